//! Tokenizers and chat templates of small folders.

use super::*;

fn folder(template: Option<&str>) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let texts: Vec<String> = (0..50)
        .map(|i| format!("The answer is {i}. <answer>{}</answer>", i * 37))
        .collect();
    train(&texts, 300, dir.path()).unwrap();
    if let Some(template) = template {
        let config = serde_json::json!({"chat_template": template, "eos_token": END_OF_TEXT});
        std::fs::write(dir.path().join("tokenizer_config.json"), config.to_string()).unwrap();
    }
    dir
}

fn with_system(system: Option<&str>) -> ChatOptions {
    ChatOptions {
        system: system.map(str::to_owned),
        ..ChatOptions::default()
    }
}

#[test]
fn any_text_survives_and_digits_stand_alone() {
    let dir = folder(None);
    let tokenizer = Tokenizer::load(dir.path()).unwrap();
    for text in [
        "",
        " leading",
        "nul \0",
        "line\u{2028}separator",
        "emoji 🦀",
        "a\r\n\tb",
        "<|endoftext|>",
        "12345",
    ] {
        assert_eq!(tokenizer.decode(&tokenizer.encode_completion(text)), text);
    }
    assert_eq!(tokenizer.encode_completion("12345").len(), 5);
    assert!(
        tokenizer.encode_completion("The answer is").len() < 6,
        "words were merged"
    );
    let end = tokenizer.token_id(END_OF_TEXT).unwrap();
    assert!(
        !tokenizer
            .encode_completion("a<|endoftext|>b")
            .contains(&end),
        "in a completion it is text"
    );
    assert!(
        tokenizer
            .encode_prompt("a<|endoftext|>b")
            .unwrap()
            .contains(&end)
    );
    assert!(tokenizer.vocab_size() <= 300);
}

#[test]
fn training_twice_gives_the_same_file() {
    let read = |dir: &Path| std::fs::read(dir.join("tokenizer.json")).unwrap();
    assert_eq!(read(folder(None).path()), read(folder(None).path()));
}

#[test]
fn templates_are_rendered_as_jinja2_would() {
    let template = "{%- for message in messages %}\n    {{- '[' + message.role.upper() + ']' + \
                    message['content'].strip() + eos_token }}\n{%- endfor %}\n{% if add_generation_prompt %}\n[ASSISTANT]{% endif %}";
    let dir = folder(Some(template));
    let tokenizer = Tokenizer::load(dir.path()).unwrap();
    let shown = |system| tokenizer.decode(&tokenizer.prompt(&with_system(system), " hi ").unwrap());
    assert_eq!(shown(None), "[USER]hi<|endoftext|>[ASSISTANT]");
    assert_eq!(
        shown(Some("be brief")),
        "[SYSTEM]be brief<|endoftext|>[USER]hi<|endoftext|>[ASSISTANT]"
    );
}

#[test]
fn without_a_template_the_text_stands_as_it_is() {
    let dir = folder(None);
    let tokenizer = Tokenizer::load(dir.path()).unwrap();
    assert!(!tokenizer.has_template());
    assert_eq!(
        tokenizer.decode(
            &tokenizer
                .prompt(&with_system(Some("ignored")), "Hello?")
                .unwrap()
        ),
        "Hello?"
    );
    assert!(
        tokenizer.prompt(&with_system(None), "").is_err(),
        "an empty prompt cannot be continued"
    );
}

#[test]
fn bad_folders_are_named() {
    let message = |dir: &Path| Tokenizer::load(dir).err().unwrap().to_string();
    let empty = tempfile::tempdir().unwrap();
    assert!(message(empty.path()).contains("tokenizer.json: cannot be read"));
    let broken = folder(Some("{{ messages[0].content }"));
    assert!(message(broken.path()).contains("the chat template cannot be rendered"));
    let listed = folder(None);
    let config = listed.path().join("tokenizer_config.json");
    for (text, expected) in [
        ("[]", "found [], expected an object"),
        (r#"{"chat_template": 3}"#, "found something else"),
        (
            r#"{"chat_template": [{"name": "tools", "template": ""}]}"#,
            "found a list without it",
        ),
        ("nonsense", "is not JSON"),
    ] {
        std::fs::write(&config, text).unwrap();
        assert!(
            message(listed.path()).contains(expected),
            "{text}: {}",
            message(listed.path())
        );
    }
    std::fs::write(
        &config,
        r#"{"chat_template": [{"name": "default", "template": "x"}]}"#,
    )
    .unwrap();
    assert!(Tokenizer::load(listed.path()).unwrap().has_template());
    let refusing = folder(Some("{{ raise_exception('no users') }}"));
    let refusing = Tokenizer::load(refusing.path()).unwrap();
    let message = refusing.check(&with_system(None)).unwrap_err().to_string();
    assert!(message.contains("no users"));
}

fn golden<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let file = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden/templates")
        .join(name);
    serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap()
}

/// What a folder with these settings makes of a text.
fn rendered(
    config: &serde_json::Value,
    options: &ChatOptions,
    text: &str,
) -> Result<String, Error> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("tokenizer_config.json"), config.to_string()).unwrap();
    let settings = Settings::load(dir.path()).unwrap();
    ChatTemplate::load(dir.path(), &settings)?
        .unwrap()
        .render(options, text)
}

#[derive(serde::Deserialize)]
struct Features {
    messages: [std::collections::BTreeMap<String, String>; 2],
    values: serde_json::Map<String, serde_json::Value>,
    /// Templates that jinja2 renders and that are refused here.
    refused: Vec<String>,
    /// Templates, each with what transformers renders; none where it fails.
    cases: Vec<(String, Option<String>)>,
}

#[test]
fn features_of_templates_are_rendered_as_transformers_renders_them() {
    let features: Features = golden("features.json");
    let content = |i: usize| &features.messages[i]["content"];
    let options = ChatOptions {
        system: Some(content(0).clone()),
        kwargs: features.values.clone(),
    };
    let shown = |template: &str| {
        let config = serde_json::json!({ "chat_template": template });
        rendered(&config, &options, content(1))
    };
    let mut wrong = Vec::new();
    for (template, expected) in &features.cases {
        let shown = shown(template);
        if shown.as_ref().ok() != expected.as_ref() {
            wrong.push(format!("{template:?}\n  {expected:?}\n  {shown:?}"));
        }
    }
    assert!(features.cases.len() > 500);
    assert!(
        wrong.is_empty(),
        "{} differ\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    for template in &features.refused {
        assert!(
            shown(template).is_err(),
            "{template}: {:?}",
            shown(template)
        );
    }
}

#[derive(serde::Deserialize)]
struct Families {
    tokens: serde_json::Value,
    families: Vec<Family>,
}

#[derive(serde::Deserialize)]
struct Family {
    name: String,
    template: String,
    turns: Vec<Turn>,
}

#[derive(serde::Deserialize)]
struct Turn {
    system: Option<String>,
    text: String,
    kwargs: serde_json::Map<String, serde_json::Value>,
    rendered: Option<String>,
}

#[test]
fn templates_of_many_families_are_rendered_as_transformers_renders_them() {
    let Families { tokens, families } = golden("families.json");
    assert!(families.len() >= 12);
    for Family {
        name,
        template,
        turns,
    } in families
    {
        let mut config = tokens.clone();
        config["chat_template"] = template.into();
        for turn in turns {
            let options = ChatOptions {
                system: turn.system.clone(),
                kwargs: turn.kwargs.clone(),
            };
            let shown = rendered(&config, &options, &turn.text);
            let place = format!(
                "{name}: {:?} {:?} {:?}: {shown:?}",
                turn.system, turn.text, turn.kwargs
            );
            assert_eq!(shown.as_ref().ok(), turn.rendered.as_ref(), "{place}");
        }
    }
}

#[test]
fn the_date_of_today_is_that_of_the_machine() {
    let config = serde_json::json!({ "chat_template": "{{ strftime_now('%Y-%m-%d %B %d') }}" });
    let today = || {
        jiff::ZonedDateTime::now()
            .strftime("%Y-%m-%d %B %d")
            .to_string()
    };
    let before = today();
    let shown = rendered(&config, &with_system(None), "x").unwrap();
    assert!([before, today()].contains(&shown), "{shown}");
}

fn write(dir: &Path, name: &str, json: &serde_json::Value) {
    std::fs::write(dir.join(name), json.to_string()).unwrap();
}

#[test]
fn tokens_come_from_all_files_in_their_order() {
    let prompt = |dir: &Path, text: &str| {
        let tokenizer = Tokenizer::load(dir).unwrap();
        tokenizer.encode_prompt(text).unwrap().len()
    };
    let token = |content: &str| serde_json::json!({"content": content, "special": true});
    let dir = folder(None);
    let own = prompt(dir.path(), "<|a|>x");
    assert!(own > 4);
    // from `added_tokens.json` where nothing goes before it, also after a byte order mark
    std::fs::write(
        dir.path().join("added_tokens.json"),
        "\u{feff}{\"<|a|>\": 300}",
    )
    .unwrap();
    assert_eq!(prompt(dir.path(), "<|a|>x"), 2);
    // not where the configuration lists tokens
    write(
        dir.path(),
        "tokenizer_config.json",
        &serde_json::json!({"added_tokens_decoder": {"300": token("<|b|>")}}),
    );
    assert_eq!(
        [prompt(dir.path(), "<|a|>x"), prompt(dir.path(), "<|b|>x")],
        [own, 2]
    );
    // tokens with a name, and those without
    write(
        dir.path(),
        "tokenizer_config.json",
        &serde_json::json!({
            "pad_token": "<|a|>", "image_token": "<|b|>", "additional_special_tokens": ["<|c|>", token("<|d|>")],
            "bos_token": "<|e|>",
        }),
    );
    write(
        dir.path(),
        "special_tokens_map.json",
        &serde_json::json!({"bos_token": {"content": "<|f|>"}}),
    );
    assert_eq!(prompt(dir.path(), "<|a|><|b|><|c|><|d|><|f|>x"), 6);
    assert!(
        prompt(dir.path(), "<|e|>x") > 4,
        "another file says otherwise"
    );
    // in the completion of another they are text
    let tokenizer = Tokenizer::load(dir.path()).unwrap();
    assert!(tokenizer.encode_completion("<|a|>x").len() > 4);
    // and a model without such a row says so
    let rows = tokenizer.vocab_size();
    let small = Tokenizer::load_for(dir.path(), rows).unwrap();
    let message = small
        .check_rows(&small.encode_prompt("x<|a|>").unwrap())
        .unwrap_err()
        .to_string();
    assert!(
        message.contains("<|a|>") && message.contains(&format!("{rows} of the model")),
        "{message}"
    );
    let broken = serde_json::json!({"added_tokens_decoder": {"300": "<|b|>"}});
    write(dir.path(), "tokenizer_config.json", &broken);
    let message = Tokenizer::load(dir.path()).err().unwrap().to_string();
    assert!(
        message.contains("added_tokens_decoder: 300: found"),
        "{message}"
    );
}

#[test]
fn templates_know_the_tokens_that_have_a_name() {
    let config = serde_json::json!({
        "chat_template": "{{ bos_token }}{{ image_token }}{{ boi }}{{ eos_token is defined }}{{ add_bos_token is defined }}",
        "bos_token": {"content": "<a>"}, "image_token": "<b>", "extra_special_tokens": {"boi": "<c>"},
        "eos_token": null, "add_bos_token": true,
    });
    assert_eq!(
        rendered(&config, &with_system(None), "x").unwrap(),
        "<a><b><c>FalseFalse"
    );
}

#[test]
fn templates_that_stand_alone_go_before_those_of_the_configuration() {
    let shown = |dir: &Path| {
        let settings = Settings::load(dir).unwrap();
        let template = ChatTemplate::load(dir, &settings)?;
        template.unwrap().render(&with_system(None), "x")
    };
    let dir = tempfile::tempdir().unwrap();
    write(
        dir.path(),
        "tokenizer_config.json",
        &serde_json::json!({"chat_template": {"default": "a", "rag": "b"}}),
    );
    assert_eq!(shown(dir.path()).unwrap(), "a");
    std::fs::create_dir(dir.path().join("additional_chat_templates")).unwrap();
    std::fs::write(dir.path().join("additional_chat_templates/rag.jinja"), "c").unwrap();
    let message = shown(dir.path()).unwrap_err().to_string();
    assert!(
        message.contains("rag.jinja in additional_chat_templates"),
        "{message}"
    );
    std::fs::write(
        dir.path().join("chat_template.jinja"),
        "d\r\n{{ messages[0].content }}\r\n",
    )
    .unwrap();
    assert_eq!(shown(dir.path()).unwrap(), "d\nx");
}
