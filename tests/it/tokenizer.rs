//! Chat templates and tokens against transformers.

use sapo::tokenizer::{ChatOptions, Tokenizer};
use serde::Deserialize;
use std::path::Path;

#[derive(Deserialize)]
struct Turn {
    system: Option<String>,
    text: String,
    ids: Vec<u32>,
}

#[test]
fn prompts_equal_those_of_transformers() {
    for style in ["qwen2.5-style", "qwen3-style"] {
        let dir = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/golden/chat")
            .join(style);
        let tokenizer = Tokenizer::load(&dir).unwrap();
        let turns = std::fs::read_to_string(dir.join("turns.json")).unwrap();
        let turns: Vec<Turn> = serde_json::from_str(&turns).unwrap();
        assert!(turns.len() > 50);
        for Turn { system, text, ids } in turns {
            let options = ChatOptions {
                system: system.clone(),
                ..ChatOptions::default()
            };
            let prompt = tokenizer.prompt(&options, &text).unwrap();
            assert_eq!(
                prompt,
                ids,
                "{style}: {system:?} {text:?}: {:?}",
                tokenizer.decode(&prompt)
            );
        }
    }
}
