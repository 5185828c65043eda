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
    let shown = |system| tokenizer.decode(&tokenizer.prompt(system, " hi ").unwrap());
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
        tokenizer.decode(&tokenizer.prompt(Some("ignored"), "Hello?").unwrap()),
        "Hello?"
    );
    assert!(
        tokenizer.prompt(None, "").is_err(),
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
        ("[]", "found something else"),
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
    assert!(message(refusing.path()).contains("no users"));
}
