//! Every rule by hand, and what makes examples clear.

use super::super::entry;
use super::*;
use std::collections::HashSet;

fn check(name: &str, input: &str, output: Option<&str>) {
    let rule = RULES.iter().find(|rule| rule.name == name).unwrap();
    let row = rule.apply(&Input::new(numbers(input).unwrap()));
    let text = row.map(|row| row.iter().map(u8::to_string).collect::<Vec<_>>().join(" "));
    assert_eq!(text.as_deref(), output, "{name}: {input}");
}

#[test]
#[expect(clippy::too_many_lines, reason = "one case per rule")]
fn rules_by_hand() {
    check("move_2pix_solid_right", "0 3 3 0 0 0", Some("0 0 0 3 3 0"));
    check("move_2pix_solid_left", "0 0 0 3 3 0", Some("0 3 3 0 0 0"));
    check("move_2pix_solid_left", "0 3 3 0 0 0", None);
    check(
        "move_1pix_colorful_wrapped_right",
        "4 0 0 0 1 2",
        Some("2 4 0 0 0 1"),
    );
    check("gravity_right", "0 3 0 4 5 0", Some("3 4 5 0 0 0"));
    check("gravity_left", "0 3 0 4 5 0", Some("0 0 0 3 4 5"));
    check("gravity_counting_left", "0 3 0 4 5 0", Some("0 0 0 1 1 1"));
    check(
        "gravity_antigravity_right",
        "0 1 0 2 2 0",
        Some("2 2 0 0 0 1"),
    );
    check(
        "gravity_weighted_colors_right",
        "0 1 0 2 2 0",
        Some("2 2 1 0 0 0"),
    );
    check("gravity_one_step_right", "0 3 3 0 0 4", Some("3 3 0 0 4 0"));
    check("block_touch_dot", "3 3 0 0 0 1", Some("0 0 0 3 3 1"));
    check("block_touch_dot_2pix", "2 0 0 0 3 3", Some("2 0 3 3 0 0"));
    check("block_scale_to_dot", "2 0 0 3 3 0", Some("3 3 3 3 3 0"));
    check("block_and_noise_remove", "3 0 3 3 0 3", Some("0 0 3 3 0 0"));
    check(
        "block_and_noise_remove_inside",
        "0 3 3 5 3 4 3 0",
        Some("0 3 3 3 3 3 3 0"),
    );
    check("move_block_by_own_size", "0 4 4 0 0 0", Some("0 0 0 4 4 0"));
    check("two_points_and_fill", "0 4 0 0 4 0", Some("0 4 4 4 4 0"));
    check(
        "two_points_and_fill_inv",
        "0 4 4 4 4 0",
        Some("0 4 0 0 4 0"),
    );
    check(
        "copy_block_to_dots_colors",
        "4 4 4 0 0 7 0 0",
        Some("4 4 4 0 7 7 7 0"),
    );
    check(
        "repeat_pattern_full",
        "1 2 1 2 0 0 0",
        Some("1 2 1 2 1 2 1"),
    );
    check("reflect_block_random", "0 1 2 3 0", Some("0 3 2 1 0"));
    check(
        "reflect_block_around_dot",
        "4 4 0 2 0 0 0",
        Some("0 0 0 2 0 4 4"),
    );
    check(
        "paint_biggest_block",
        "4 4 0 4 4 4 0",
        Some("4 4 0 1 1 1 0"),
    );
    check(
        "recolor_blocks_by_size",
        "3 3 0 3 3 3 0",
        Some("2 2 0 1 1 1 0"),
    );
    check("change_to_five", "0 1 2", Some("0 5 5"));
    check(
        "recolor_blocks_from_palette",
        "7 4 0 5 5 0 5 5 0",
        Some("7 4 0 7 7 0 4 4 0"),
    );
    check("color_left_half_blocks", "2 2 2 0 2 2", Some("8 2 2 0 8 2"));
    check(
        "sort_blocks_by_size",
        "0 6 6 6 0 6 0",
        Some("6 0 6 6 6 0 0"),
    );
    check("sort_complete_sequence", "6 6 0 6 0 0", Some("6 0 6 6 0 0"));
    check(
        "duplicate_block_from_seeds",
        "0 0 0 4 0 1 1 0 7 0 0 0",
        Some("4 0 4 4 0 1 1 0 7 7 0 7"),
    );
    check(
        "fill_from_pixel",
        "0 0 7 4 4 4 0 0",
        Some("7 7 7 4 4 4 0 0"),
    );
    check(
        "fill_until_collision",
        "5 0 3 0 0 4 0",
        Some("5 3 3 4 4 4 0"),
    );
    check(
        "mark_size_two_blocks",
        "0 4 4 0 0 7 0",
        Some("3 4 4 3 0 7 0"),
    );
}

#[test]
fn there_are_seventy_rules_and_all_are_asked() {
    let names: HashSet<&str> = RULES.iter().map(|rule| rule.name.as_str()).collect();
    assert_eq!((RULES.len(), names.len()), (70, 70));
    for (min_size, max_size, num_train) in [(8, 8, 1), (10, 30, 3), (100, 100, 3), (1000, 1000, 1)]
    {
        let config = Arc1dConfig {
            min_size,
            max_size,
            num_train,
        };
        assert_eq!(config.validate(), Ok(()));
        let task = Arc1d::new(config, Scoring::Exact);
        let mut seen = HashSet::new();
        for seed in 0..1200 {
            if min_size == 1000 && seed > 300 {
                break;
            }
            let question = task.question(Seed::new(seed));
            let test = &question.metadata["test_example"];
            assert_ne!(test["input"], test["output"], "{question:?}");
            seen.insert(question.metadata["task_name"].as_str().unwrap().to_owned());
        }
        assert!(seen.len() > 60, "{min_size}: {}", seen.len());
    }
}

#[test]
fn every_rule_has_rows_of_every_length() {
    let mut rng = Seed::new(4).rng();
    for rule in RULES.iter() {
        for length in [8, 9, 10, 30, 50, 100, 400] {
            assert!(
                Example::generate(rule, &mut rng, length).is_some(),
                "{} {length}",
                rule.name
            );
        }
    }
}

#[test]
fn examples_are_clear_where_no_other_rule_misleads() {
    let example = |input: &str, output: &str| Example {
        input: Input::new(numbers(input).unwrap()),
        output: numbers(output).unwrap(),
    };
    let train = || example("0 3 0 0 0 0", "0 0 3 0 0 0");
    let clear = |test: Example| is_clear(&[train(), test]);
    // A move by one cell and a move by the block's own size part with a block of two.
    assert!(clear(example("0 0 3 0 0 0", "0 0 0 3 0 0")));
    assert!(!clear(example("3 3 0 0 0 0", "0 3 3 0 0 0")));
    assert!(!clear(example("3 3 0 0 0 0", "0 0 3 3 0 0")));
    assert!(!clear(example("0 0 3 0 0 0", "0 0 3 0 0 0")));
}

#[test]
fn exact_takes_the_row_in_other_notations() {
    let question = entry(NAME, Some("0 1 2"), json!({}));
    let task = Arc1d::new(Arc1dConfig::default(), Scoring::Exact);
    for answer in ["0 1 2", " 0  1 2\n", "0, 1, 2", "[0, 1, 2]", "0,1,2"] {
        assert_eq!(task.score(&question, answer), 1.0, "{answer:?}");
    }
    for answer in [
        "012",
        "0 1 2 0",
        "0 1",
        "",
        "[]",
        "0 1 2.",
        "The answer is 0 1 2",
        "0 1 12",
    ] {
        assert_eq!(task.score(&question, answer), 0.0, "{answer:?}");
    }
}
