//! The floors of the design: a file imports only lower floors or the neighbours of its folder, no
//! files import each other in a circle, and the things that must not be are not.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};

/// Floor of each module of `src/`, the lowest first; on the highest, `report`, `experiment` and `cli`
/// may use each other downwards, in this order.
const FLOORS: &[&[&str]] = &[
    &["seed", "results_layout", "process", "text_file"],
    &["rollout"],
    &[
        "task",
        "tokenizer",
        "wire",
        "kept_rollouts",
        "kernels",
        "advantage",
    ],
    &["model", "reward", "bus"],
    &["learn"],
    &["member"],
    &["swarm"],
    &["report"],
    &["experiment"],
    &["cli"],
];

/// Modules that may touch files, clocks and the environment.
const OUTSIDE: &[&str] = &["process", "report", "experiment", "cli"];

fn floor(module: &str) -> usize {
    let floor = FLOORS.iter().position(|floor| floor.contains(&module));
    floor.unwrap_or_else(|| panic!("no floor for `{module}`"))
}

/// One source file without its tests.
struct Source {
    /// Below `src/`.
    path: PathBuf,
    /// As Rust names it: `["swarm", "agent"]`, `["swarm"]` for its `mod.rs`.
    module: Vec<String>,
    code: String,
    /// The files that it imports from or names by a path, whether in braces or in the middle of a
    /// function. What a `mod.rs` only passes on is looked for where it is defined.
    uses: BTreeSet<Vec<String>>,
}

/// By module and name, what a module passes on of others.
type Passed = BTreeMap<(Vec<String>, String), Vec<String>>;

fn files(dir: &Path, all: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, all);
        } else {
            all.push(path);
        }
    }
}

fn sources() -> Vec<Source> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut paths = Vec::new();
    files(&root, &mut paths);
    paths.sort();
    let relative = |path: &PathBuf| path.strip_prefix(&root).unwrap().to_owned();
    let parts = |path: &Path| -> Vec<String> {
        let path = path.with_extension("");
        path.iter()
            .map(|part| part.to_str().unwrap().to_owned())
            .collect()
    };
    let is_test = |path: &PathBuf| parts(&relative(path)).contains(&"tests".to_owned());
    let module = |path: &Path| {
        let mut module = parts(path);
        if ["mod", "lib", "main"].contains(&module.last().unwrap().as_str()) {
            module.pop();
        }
        module
    };
    paths.retain(|path| path.extension().is_some_and(|e| e == "rs") && !is_test(path));
    let modules: BTreeSet<Vec<String>> = paths.iter().map(|p| module(&relative(p))).collect();
    let read = |path: &PathBuf| {
        let (text, path) = (fs::read_to_string(path).unwrap(), relative(path));
        let mut imports = Imports::new(&modules, module(&path));
        imports.visit_file(&syn::parse_file(&text).unwrap());
        (path, text, imports)
    };
    let read: Vec<_> = paths.iter().map(read).collect();
    let passed = read.iter().flat_map(|(.., imports)| imports.passed.clone());
    let passed: Passed = passed.collect();
    let source = |(path, text, imports): (PathBuf, String, Imports<'_>)| Source {
        code: text
            .split("#[cfg(test)]\nmod tests {")
            .next()
            .unwrap()
            .to_owned(),
        uses: imports.uses(&passed),
        module: imports.module,
        path,
    };
    let all = read.into_iter().map(source);
    all.filter(|source| !source.module.is_empty()).collect()
}

/// The files of this program that a file names.
struct Imports<'a> {
    modules: &'a BTreeSet<Vec<String>>,
    module: Vec<String>,
    /// Modules within the file that are being read.
    inline: usize,
    /// Paths from the root, modules and names.
    found: BTreeSet<Vec<String>>,
    passed: Passed,
}

impl<'a> Imports<'a> {
    fn new(modules: &'a BTreeSet<Vec<String>>, module: Vec<String>) -> Self {
        Self {
            modules,
            module,
            inline: 0,
            found: BTreeSet::new(),
            passed: Passed::new(),
        }
    }

    /// The files that are used.
    fn uses(&self, passed: &Passed) -> BTreeSet<Vec<String>> {
        let files = self.found.iter().map(|path| self.file(path, passed));
        files
            .filter(|file| *file != self.module && !file.is_empty())
            .collect()
    }

    /// The file that defines what a path from the root names.
    fn file(&self, path: &[String], passed: &Passed) -> Vec<String> {
        let depth = (0..=path.len())
            .rev()
            .find(|&n| self.modules.contains(&path[..n]));
        let (module, rest) = path.split_at(depth.unwrap_or(0));
        let key = rest.first().map(|name| (module.to_vec(), name.clone()));
        match key.and_then(|key| passed.get(&key)) {
            Some(target) => self.file(target, passed),
            None => module.to_vec(),
        }
    }

    /// A path from the root; none for one that leads out of the program.
    fn absolute(&self, path: &[String]) -> Option<Vec<String>> {
        let mut place = self.module.clone();
        match path.first().map(String::as_str) {
            Some("crate") => return Some(path[1..].to_vec()),
            Some("self") => place.extend_from_slice(&path[1..]),
            Some("super") => {
                let ups = path.iter().take_while(|part| *part == "super").count();
                place.truncate(place.len().saturating_sub(ups.saturating_sub(self.inline)));
                place.extend_from_slice(&path[ups..]);
            }
            // a path without a root names a module only where there is one of this name
            Some(first) => {
                place.push(first.to_owned());
                if !self.modules.contains(&place) {
                    return None;
                }
                place.extend_from_slice(&path[1..]);
            }
            None => return None,
        }
        Some(place)
    }

    /// An imported or, where `public`, passed on name.
    fn add(&mut self, path: &[String], name: &syn::Ident, public: bool) {
        let Some(absolute) = self.absolute(path) else {
            return;
        };
        if public {
            let key = (self.module.clone(), name.to_string());
            self.passed.insert(key, absolute);
        } else {
            self.found.insert(absolute);
        }
    }

    fn tree(&mut self, tree: &syn::UseTree, before: &[String], public: bool) {
        let with = |ident: &syn::Ident| [before, &[ident.to_string()]].concat();
        match tree {
            syn::UseTree::Path(path) => self.tree(&path.tree, &with(&path.ident), public),
            syn::UseTree::Name(name) if name.ident == "self" => {
                self.found.extend(self.absolute(before));
            }
            syn::UseTree::Name(name) => self.add(&with(&name.ident), &name.ident, public),
            syn::UseTree::Rename(name) => self.add(&with(&name.ident), &name.rename, public),
            syn::UseTree::Glob(_) => self.found.extend(self.absolute(before)),
            syn::UseTree::Group(group) => {
                group
                    .items
                    .iter()
                    .for_each(|tree| self.tree(tree, before, public));
            }
        }
    }
}

impl<'a> Visit<'a> for Imports<'_> {
    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        let public = !matches!(item.vis, syn::Visibility::Inherited);
        self.tree(&item.tree, &[], public && self.inline == 0);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let parts = path.segments.iter().map(|part| part.ident.to_string());
        let parts: Vec<String> = parts.collect();
        if parts.len() > 1 {
            self.found.extend(self.absolute(&parts));
        }
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'a syn::Visibility) {
        // `pub(in crate::kernels)` imports nothing
    }

    fn visit_item_mod(&mut self, module: &'a syn::ItemMod) {
        let is_test = |attribute: &syn::Attribute| {
            let test = attribute.parse_args::<syn::Ident>();
            attribute.path().is_ident("cfg") && test.is_ok_and(|name| name == "test")
        };
        if module.content.is_some() && !module.attrs.iter().any(is_test) {
            self.inline += 1;
            visit::visit_item_mod(self, module);
            self.inline -= 1;
        }
    }
}

#[test]
fn files_import_only_lower_floors() {
    let mut seen = 0;
    for source in sources() {
        for used in source
            .uses
            .iter()
            .filter(|used| used[0] != source.module[0])
        {
            seen += 1;
            let (from, to) = (&source.module[0], &used[0]);
            let below = floor(to) < floor(from);
            assert!(below, "{}: {from} uses {to}", source.path.display());
        }
    }
    assert!(seen > 100, "the test looks at something: {seen}");
}

#[test]
fn files_import_each_other_in_no_circle() {
    let graph: BTreeMap<_, _> = sources().into_iter().map(|s| (s.module, s.uses)).collect();
    let mut left: BTreeSet<_> = graph.keys().cloned().collect();
    // what imports nothing that is left, or is imported by nothing that is left, is in no circle
    loop {
        let imports = |module: &Vec<String>| graph[module].iter().any(|used| left.contains(used));
        let imported = |module: &Vec<String>| left.iter().any(|m| graph[m].contains(module));
        let done = left
            .iter()
            .filter(|module| !imports(module) || !imported(module));
        let done: Vec<_> = done.cloned().collect();
        if done.is_empty() {
            break;
        }
        left.retain(|module| !done.contains(module));
    }
    let line = |module: &Vec<String>| {
        let uses = graph[module].iter().filter(|used| left.contains(*used));
        let uses: Vec<String> = uses.map(|used| used.join("/")).collect();
        format!("{} imports {}", module.join("/"), uses.join(", "))
    };
    let circles: Vec<String> = left.iter().map(line).collect();
    assert!(
        circles.is_empty(),
        "circles, and what lies between:\n{}",
        circles.join("\n")
    );
}

#[test]
fn imports_are_found_in_every_form() {
    let modules = ["a", "a/b", "a/c", "d"].map(|m| m.split('/').map(str::to_owned).collect());
    let modules: BTreeSet<Vec<String>> = modules.into();
    let read = |module: &str, text: &str| {
        let module = module.split('/').map(str::to_owned).collect();
        let mut imports = Imports::new(&modules, module);
        imports.visit_file(&syn::parse_str(text).unwrap());
        imports
    };
    let passed = read(
        "a",
        "mod b; mod c; pub use c::{Y, Z as W}; pub(crate) use b::X;",
    )
    .passed;
    let check = |text: &str, expected: &[&str]| {
        let uses = read("a/b", text).uses(&passed);
        let found: Vec<String> = uses.iter().map(|m| m.join("/")).collect();
        assert_eq!(found, expected, "{text}");
    };
    check("use crate::{a::c::X, d as e};", &["a/c", "d"]);
    check("use super::{c::{self, Q}, V};", &["a", "a/c"]);
    check("use super::{Y, W};", &["a/c"]);
    check("use crate::a::W; use crate::a::X;", &["a/c"]);
    check("use std::fs; use serde::de;", &[]);
    check("fn f() { crate::d::g(super::c::H) }", &["a/c", "d"]);
    check("#[cfg(test)] mod tests { use crate::d; }", &[]);
    check("mod inner { use super::X; use super::super::c; }", &["a/c"]);
    let facade = read("a", "mod b; pub use b::X; use c::Y;").uses(&Passed::new());
    assert_eq!(facade, BTreeSet::from([vec!["a".into(), "c".into()]]));
}

#[test]
fn burn_stays_where_tensors_are() {
    let files = ["member/language_model.rs", "experiment/device.rs"].map(Path::new);
    for Source {
        path, module, code, ..
    } in sources()
    {
        let folder = ["kernels", "model", "learn"].contains(&module[0].as_str());
        let allowed = folder || files.contains(&&*path);
        assert!(
            allowed || !code.contains("burn::"),
            "{} uses burn",
            path.display()
        );
    }
}

#[test]
fn only_the_dispatch_of_kernels_asks_where_tensors_live() {
    for Source { path, code, .. } in sources() {
        let dispatch = path == Path::new("kernels/mod.rs");
        for word in ["as_dispatch", "DispatchDevice", "is_cpu("] {
            let asks = !dispatch && code.contains(word);
            assert!(!asks, "{} asks for the device: {word}", path.display());
        }
    }
}

#[test]
fn files_clocks_and_prints_stay_on_the_highest_floors() {
    let reads_paths = [
        "model/config.rs",
        "model/weights.rs",
        "model/weight_error.rs",
        "model/weight_files.rs",
        "model/shard.rs",
        "model/optimizer_state.rs",
        "member/model_folder.rs",
        "tokenizer/mod.rs",
        "tokenizer/chat_template.rs",
        "tokenizer/settings.rs",
        "tokenizer/error.rs",
        "tokenizer/train.rs",
        "results_layout.rs",
        "kept_rollouts.rs",
        // streams of compressed bytes
        "bus/nats.rs",
        "text_file.rs",
    ]
    .map(Path::new);
    let everywhere = [
        "std::env",
        "std::time",
        "println!",
        "eprintln!",
        "thread_rng",
        "Tensor::random",
    ];
    for Source {
        path, module, code, ..
    } in sources()
    {
        if OUTSIDE.contains(&module[0].as_str()) {
            continue;
        }
        let mut banned = everywhere.to_vec();
        if !reads_paths.contains(&&*path) {
            banned.extend(["std::fs", "std::io"]);
        }
        for word in banned {
            assert!(!code.contains(word), "{} uses {word}", path.display());
        }
    }
}

#[test]
fn what_must_not_know_each_other_does_not() {
    let apart = [
        ("task", &["tokenizer", "model", "learn"][..]),
        ("model", &["task"]),
        ("learn", &["task"]),
        ("report", &["swarm", "learn", "model", "experiment"]),
        ("swarm", &["model", "learn", "tokenizer"]),
        ("bus", &["model", "learn", "tokenizer", "task"]),
    ];
    for Source {
        path, module, code, ..
    } in sources()
    {
        let unknown = apart.iter().find(|(from, _)| module[0] == *from);
        for to in unknown.map_or(&[][..], |(_, to)| to) {
            let knows = code.contains(&format!("crate::{to}"));
            assert!(!knows, "{} knows {to}", path.display());
        }
    }
}

#[test]
fn files_are_short_and_say_what_they_do() {
    for Source { path, code, .. } in sources() {
        assert!(
            code.starts_with("//! "),
            "{} does not open with //!",
            path.display()
        );
        let lines = code.lines().count();
        assert!(lines <= 400, "{} has {lines} lines", path.display());
    }
}
