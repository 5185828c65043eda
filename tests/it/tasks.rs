//! What holds for every task of the catalog, and the scores of reasoning-gym.

use proptest::prelude::*;
use sapo::rollout::Question;
use sapo::seed::Seed;
use sapo::task::catalog::{NAMES, TaskConfigs, build};
use sapo::task::curriculum::{at_level, attributes};
use sapo::task::{Scoring, Task, extract_answer, score_completion};
use serde_json::{Map, Value};

const BOTH: [Scoring; 2] = [Scoring::ReasoningGym, Scoring::Exact];

fn task(name: &str, scoring: Scoring) -> Box<dyn Task> {
    build(name, &TaskConfigs::default(), scoring).unwrap()
}

/// The ground truth, or one of several right answers.
fn right_answer(question: &Question) -> &str {
    let example = || question.metadata["example_answer"].as_str().unwrap();
    question.answer.as_deref().unwrap_or_else(example)
}

fn questions(task: &dyn Task) -> Vec<Question> {
    (0..100)
        .map(|i| task.question(Seed::new(1).child("question", i)))
        .collect()
}

#[test]
fn right_answers_score_one() {
    for name in NAMES {
        for task in BOTH.map(|scoring| task(name, scoring)) {
            for question in questions(&*task) {
                let answer = right_answer(&question);
                assert_eq!(task.score(&question, answer), 1.0, "{question:?}");
                let completion =
                    format!("So <answer>0</answer>, no: <answer>\n{answer} </answer>.");
                assert_eq!(
                    score_completion(&*task, &question, &completion),
                    1.0,
                    "{question:?}"
                );
                assert_eq!(
                    score_completion(&*task, &question, answer),
                    task.score_missing(),
                    "{question:?}"
                );
            }
        }
    }
}

#[test]
fn supersets_and_empty_answers_do_not() {
    for name in NAMES {
        let [library, exact] = BOTH.map(|scoring| task(name, scoring));
        for question in questions(&*library) {
            let right = right_answer(&question);
            let echo = question.text.clone();
            for answer in [
                format!("The answer is {right}."),
                format!("{right} or {right}"),
                format!("{right} 7"),
                echo,
            ] {
                // The library reads a LaTeX fraction at the start, whatever comes behind it.
                let fooled = answer.starts_with("$\\");
                assert!(
                    fooled || library.score(&question, &answer) < 1.0,
                    "{name}: {answer:?}"
                );
                assert_eq!(exact.score(&question, &answer), 0.0, "{name}: {answer:?}");
            }
            for answer in ["", " ", "I do not know"] {
                assert_eq!(exact.score(&question, answer), 0.0, "{name}: {answer:?}");
            }
            assert!(library.score(&question, "") <= 0.01, "{name}");
        }
    }
}

#[test]
fn formulas_that_fool_the_library_do_not() {
    let [library, exact] = BOTH.map(|scoring| task("propositional_logic", scoring));
    let questions = questions(&*exact);
    let mean = |task: &dyn Task, answer: &str| {
        let scores = questions
            .iter()
            .map(|question| f64::from(task.score(question, answer) == 1.0));
        scores.sum::<f64>() / questions.len() as f64
    };
    assert!(mean(&*library, "P ∨ Q") > 0.7);
    for answer in [
        "P ∨ Q",
        "P ∨ Q ∨ R ∨ S",
        "P → Q",
        "P ∨ ¬P",
        "P ∨ p",
        "p ∨ q",
        "P ∧ ¬P",
    ] {
        assert!(mean(&*exact, answer) < 0.1, "{answer}");
    }
    for answer in ["P", "Q", "¬P", "P ∧ Q", "P ↔ Q", "¬(P ↔ Q)"] {
        assert!(mean(&*exact, answer) < 0.45, "{answer}");
    }
    for question in &questions {
        let premises: Vec<&str> = question.metadata["premises"]
            .as_array()
            .unwrap()
            .iter()
            .map(|premise| premise.as_str().unwrap())
            .collect();
        assert_eq!(
            exact.score(question, &premises.join(" ∧ ")),
            0.0,
            "{question:?}"
        );
        assert_eq!(exact.score(question, premises[0]), 0.0, "{question:?}");
    }
}

#[test]
fn bad_values_are_errors_that_name_field_and_range() {
    for (table, message) in [
        (
            "[arc_1d]\nmin_size = 7",
            "arc_1d: min_size = 7: expected 8 to 1000",
        ),
        (
            "[arc_1d]\nnum_train = 0",
            "arc_1d: num_train = 0: expected 1 to 100",
        ),
        (
            "[bf]\ndifficulty = 0",
            "bf: difficulty = 0: expected 1 to 3",
        ),
        (
            "[propositional_logic]\nmax_vars = 1",
            "propositional_logic: max_vars = 1: expected 2 (min_vars) to 11",
        ),
        (
            "[propositional_logic]\nmin_statements = 0",
            "propositional_logic: min_statements = 0: expected 1 to 50",
        ),
        (
            "[propositional_logic]\nmax_complexity = 9",
            "propositional_logic: max_complexity = 9: expected 1 (min_complexity) to 8",
        ),
        (
            "[fraction_simplification]\nmin_value = 0",
            "fraction_simplification: min_value = 0: expected 1 to 1000000000",
        ),
        (
            "[fraction_simplification]\nmin_factor = 101",
            "fraction_simplification: max_factor = 100: expected 101 (min_factor) to 1000000000",
        ),
        (
            "[decimal_arithmetic]\nprecision = 4",
            "decimal_arithmetic: precision = 4: expected 5 (max_num_decimal_places + 2) to 100",
        ),
        (
            "[decimal_arithmetic]\nmin_terms = 0",
            "decimal_arithmetic: min_terms = 0: expected 1 to 50",
        ),
        (
            "[calendar_arithmetic]\nyear = 0",
            "calendar_arithmetic: year = 0: expected 1 to 9999",
        ),
        (
            "[calendar_arithmetic]\noffset_upper_bound = 0",
            "calendar_arithmetic: offset_upper_bound = 0: expected 1 to 100000",
        ),
        (
            "[calendar_arithmetic]\nleap_year_range = -1",
            "calendar_arithmetic: leap_year_range = -1: expected 0 to 20000",
        ),
    ] {
        let configs: TaskConfigs = toml::from_str(table).unwrap();
        let name = table[1..].split(']').next().unwrap();
        assert_eq!(
            build(name, &configs, Scoring::Exact).err().as_deref(),
            Some(message),
            "{table}"
        );
    }
    for table in [
        "[bf]\nlevel = 1",
        "[calendar_arithmetic]\ntasks = [\"noon\"]",
        "[fraction_simplification]\nstyles = [\"x\"]",
    ] {
        assert!(toml::from_str::<TaskConfigs>(table).is_err(), "{table}");
    }
}

#[test]
fn every_level_of_the_curricula_has_questions() {
    for name in NAMES {
        let top = attributes(name)
            .iter()
            .map(|attribute| attribute.levels.count())
            .max();
        for level in 0..top.unwrap_or(0) {
            let table = serde_json::json!({*name: at_level(name, level)});
            let configs: TaskConfigs = serde_json::from_value(table).unwrap();
            let task = build(name, &configs, Scoring::Exact).unwrap();
            for seed in 0..20 {
                let question = task.question(Seed::new(seed));
                assert_eq!(
                    task.score(&question, right_answer(&question)),
                    1.0,
                    "{question:?}"
                );
            }
        }
    }
}

#[test]
fn questions_are_a_pure_function_of_the_seed() {
    for name in NAMES {
        let (first, second) = (
            task(name, Scoring::Exact),
            task(name, Scoring::ReasoningGym),
        );
        assert_eq!(first.name(), *name);
        let all = questions(&*first);
        assert_eq!(all, questions(&*second));
        let mut texts: Vec<&str> = all.iter().map(|question| question.text.as_str()).collect();
        texts.sort_unstable();
        texts.dedup();
        assert!(
            texts.len() > 80,
            "{name}: only {} of 100 questions differ",
            texts.len()
        );
    }
}

#[test]
fn questions_travel_as_json() {
    for name in NAMES {
        for question in questions(&*task(name, Scoring::Exact)) {
            assert_eq!(question.task, *name);
            assert_eq!(question.metadata["source_dataset"], *name);
            assert_eq!(question.metadata["source_index"], 0);
            assert!(question.metadata["difficulty"].is_object());
            let sent = serde_json::to_string(&*question.metadata).unwrap();
            let received: serde_json::Map<String, Value> = serde_json::from_str(&sent).unwrap();
            assert_eq!(received, *question.metadata);
        }
    }
}

/// The golden scores, or every one of a file of fixtures that SAPO_FIXTURES names.
#[test]
fn scores_equal_those_of_reasoning_gym() {
    let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/scores.jsonl").to_owned();
    let path = std::env::var("SAPO_FIXTURES").unwrap_or(golden);
    let mut checked = 0;
    for line in std::fs::read_to_string(path).unwrap().lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let name = row["task"].as_str().unwrap();
        if !NAMES.contains(&name) {
            continue;
        }
        let configs: TaskConfigs =
            serde_json::from_value(serde_json::json!({name: row["config"]})).unwrap();
        let task = build(name, &configs, Scoring::ReasoningGym).unwrap();
        let question = Question {
            task: name.to_owned().into(),
            text: String::new(),
            answer: row["answer"].as_str().map(str::to_owned),
            metadata: row["metadata"].as_object().unwrap().clone().into(),
            seed: None,
        };
        for scored in row["scored"].as_array().unwrap() {
            let (candidate, score) = match scored {
                Value::Array(pair) => (&pair[0], &pair[1]),
                object => (&object["candidate"], &object["score"]),
            };
            let Some(score) = score.as_f64() else {
                continue;
            };
            let ours = candidate
                .as_str()
                .map_or_else(|| task.score_missing(), |text| task.score(&question, text));
            assert!(
                (ours - score).abs() < 1e-9,
                "{name} {candidate:?}: {ours}, library {score}, of {question:?}"
            );
            checked += 1;
        }
    }
    assert!(checked > 500, "only {checked} scores were checked");
}

/// Parts of what the scorers look for.
const PIECES: &[&str] = &[
    "<answer>",
    "</answer>",
    "[",
    "]",
    "(",
    ")",
    "-",
    "+",
    "0",
    "1",
    "9",
    "_",
    ",",
    "\n",
    " ",
    "\"",
    "#",
    "０",
    "\u{0}",
    "\\frac{",
    "}",
    "/",
    "$",
    "¬",
    "∧",
    "→",
    "P",
    "e",
    ".",
    "NaN",
    "0x",
    "\u{1f}",
    "٣",
    "é",
    "🦀",
];

/// What a hostile or broken model may write: any text, or much of what the scorers look for.
fn hostile() -> impl Strategy<Value = String> {
    let glued = prop::collection::vec((prop::sample::select(PIECES), 1..40usize), 0..20).prop_map(
        |parts| {
            parts
                .into_iter()
                .map(|(piece, times)| piece.repeat(times))
                .collect::<String>()
        },
    );
    prop_oneof![any::<String>(), glued]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn hostile_answers_score_within_bounds(text in hostile(), seed in 0..50u64) {
        extract_answer(&text);
        for name in NAMES {
            for task in BOTH.map(|scoring| task(name, scoring)) {
                let mut question = task.question(Seed::new(seed));
                let right = right_answer(&question).to_owned();
                for answer in [text.clone(), format!("{right}{text}"), format!("{text}{right}")] {
                    let score = task.score(&question, &answer);
                    prop_assert!((0.0..=1.0).contains(&score), "{name} {answer:?} {score}");
                }
                // A question from another agent may hold anything at all.
                question.answer = Some(text.clone());
                let keys = question.metadata.keys().cloned();
                question.metadata = keys.map(|key| (key, Value::from(text.clone()))).collect::<Map<_, _>>().into();
                prop_assert!((0.0..=1.0).contains(&task.score(&question, &right)));
                question.answer = None;
                question.metadata = Map::new().into();
                prop_assert!((0.0..=1.0).contains(&task.score(&question, &right)));
            }
        }
    }
}

#[test]
fn long_answers_are_scored() {
    // more than linear time would show as a test that does not end
    for name in NAMES {
        for task in BOTH.map(|scoring| task(name, scoring)) {
            let question = task.question(Seed::new(5));
            for piece in [
                "9",
                "[",
                "(",
                "0 ",
                "[0,",
                "¬",
                "(P ∧ ",
                "\n",
                "-",
                "_0",
                right_answer(&question),
            ] {
                let score = task.score(&question, &piece.repeat(200_000 / piece.len()));
                assert!(
                    (0.0..=1.0).contains(&score),
                    "{name}: {piece:?} scores {score}"
                );
            }
        }
    }
}
