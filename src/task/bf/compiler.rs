//! Compiles programs of a small C-like language to Brainfuck, and writes their source.
//!
//! Every variable has a cell, in the order of declaration; the cells after them are for what a
//! statement computes, and are 0 between statements. Values fit a cell: whoever writes a program
//! keeps them below 256.

use std::fmt::Write as _;

/// A statement; variables are named by their position in [`Program::variables`].
pub(super) enum Statement {
    /// Prints the text.
    Print(String),
    /// Prints the variable in decimal.
    PrintInt(usize),
    /// Adds the second variable to the first.
    Add(usize, usize),
    /// Repeats while the first variable is less than the second.
    WhileLess(usize, usize, Vec<Statement>),
    /// Once, if the variable is greater than the number.
    IfGreater(usize, u8, Vec<Statement>),
}

/// A program: variables with the values they start with, and what is done with them.
pub(super) struct Program {
    /// Names and first values.
    pub(super) variables: Vec<(&'static str, u8)>,
    /// What is done, in order.
    pub(super) body: Vec<Statement>,
}

impl Program {
    /// The C-like text, on lines of its own.
    pub(super) fn source(&self) -> String {
        let mut text = "\nint main() {\n".to_owned();
        for (name, value) in &self.variables {
            writeln!(text, "    int {name} = {value};").expect("a String takes any text");
        }
        self.write_block(&self.body, 1, &mut text);
        text + "}\n"
    }

    fn write_block(&self, block: &[Statement], depth: usize, text: &mut String) {
        let indent = "    ".repeat(depth);
        let name = |variable: &usize| self.variables[*variable].0;
        for statement in block {
            let (head, inner) = match statement {
                Statement::Print(words) => (format!("print(\"{words}\");"), None),
                Statement::PrintInt(v) => (format!("printint({});", name(v)), None),
                Statement::Add(a, b) => (format!("{0} = {0} + {1};", name(a), name(b)), None),
                Statement::WhileLess(a, b, inner) => {
                    (format!("while ({} < {}) {{", name(a), name(b)), Some(inner))
                }
                Statement::IfGreater(a, n, inner) => {
                    (format!("if ({} > {n}) {{", name(a)), Some(inner))
                }
            };
            writeln!(text, "{indent}{head}").expect("a String takes any text");
            if let Some(inner) = inner {
                self.write_block(inner, depth + 1, text);
                writeln!(text, "{indent}}}").expect("a String takes any text");
            }
        }
    }

    /// The Brainfuck program.
    pub(super) fn compile(&self) -> String {
        let mut writer = Writer {
            code: String::new(),
            cell: 0,
            free: self.variables.len(),
        };
        for (cell, (_, value)) in self.variables.iter().enumerate() {
            writer.change(cell, i32::from(*value));
        }
        writer.block(&self.body);
        writer.code
    }
}

/// Writes code, and knows which cell the pointer is at and which are in use.
struct Writer {
    code: String,
    cell: usize,
    free: usize,
}

impl Writer {
    fn block(&mut self, block: &[Statement]) {
        for statement in block {
            match statement {
                Statement::Print(text) => self.print(text),
                Statement::PrintInt(variable) => self.print_int(*variable),
                Statement::Add(to, from) => self.with_cells(|w, [spare]| w.copy(*from, *to, spare)),
                Statement::WhileLess(a, b, inner) => self.with_cells(|w, [flag]| {
                    w.less(*a, *b, flag);
                    w.repeat(flag, |w| {
                        w.step(flag, -1);
                        w.block(inner);
                        w.less(*a, *b, flag);
                    });
                }),
                Statement::IfGreater(variable, number, inner) => {
                    self.with_cells(|w, [flag, limit]| {
                        w.change(limit, i32::from(*number));
                        w.less(limit, *variable, flag);
                        w.clear(limit);
                        w.repeat(flag, |w| {
                            w.step(flag, -1);
                            w.block(inner);
                        });
                    });
                }
            }
        }
    }

    /// Lends the next free cells, which hold 0 and must hold 0 again at the end.
    fn with_cells<const N: usize>(&mut self, write: impl FnOnce(&mut Self, [usize; N])) {
        let cells = std::array::from_fn(|i| self.free + i);
        self.free += N;
        write(self, cells);
        self.free -= N;
    }

    fn go(&mut self, cell: usize) {
        let (step, count) = if cell >= self.cell {
            (">", cell - self.cell)
        } else {
            ("<", self.cell - cell)
        };
        self.code.push_str(&step.repeat(count));
        self.cell = cell;
    }

    /// Adds a small number to a cell.
    fn step(&mut self, cell: usize, amount: i32) {
        self.go(cell);
        self.code
            .push_str(&if amount < 0 { "-" } else { "+" }.repeat(amount.unsigned_abs() as usize));
    }

    /// A loop that runs while the cell is not 0.
    fn repeat(&mut self, cell: usize, body: impl FnOnce(&mut Self)) {
        self.go(cell);
        self.code.push('[');
        body(self);
        self.go(cell);
        self.code.push(']');
    }

    fn clear(&mut self, cell: usize) {
        self.repeat(cell, |w| w.step(cell, -1));
    }

    /// Adds any number to a cell: a large one as a product and a rest, whichever are shortest.
    fn change(&mut self, cell: usize, amount: i32) {
        let size = amount.abs();
        let shortest = (2..=size / 2)
            .min_by_key(|times| times + size / times + size % times)
            .unwrap_or(1);
        if size < 12 {
            return self.step(cell, amount);
        }
        self.with_cells(|w, [counter]| {
            w.step(counter, shortest);
            w.repeat(counter, |w| {
                w.step(cell, amount.signum() * (size / shortest));
                w.step(counter, -1);
            });
        });
        self.step(cell, amount.signum() * (size % shortest));
    }

    /// Adds one cell to another and keeps it, by way of a spare one.
    fn copy(&mut self, from: usize, to: usize, spare: usize) {
        self.repeat(from, |w| {
            w.step(to, 1);
            w.step(spare, 1);
            w.step(from, -1);
        });
        self.take(spare, from);
    }

    /// Adds one cell to another and leaves 0.
    fn take(&mut self, from: usize, to: usize) {
        self.repeat(from, |w| {
            w.step(to, 1);
            w.step(from, -1);
        });
    }

    /// Adds 1 to the flag if `a` is less than `b`: counts copies of both down until `b` is at 0, or
    /// `a` is there before it.
    ///
    /// The test of `left` costs the same for any value: the pointer leaves the first loop two cells
    /// further on, the second one only runs where the first did not, and both end at `end`.
    fn less(&mut self, a: usize, b: usize, flag: usize) {
        self.with_cells(|w, [left, at_zero, _, end, right, spare]| {
            w.copy(a, left, spare);
            w.copy(b, right, spare);
            w.repeat(right, |w| {
                w.step(right, -1);
                w.step(at_zero, 1);
                w.go(left);
                w.code.push_str("[->->]>[");
                w.cell = at_zero;
                w.step(at_zero, -1);
                w.step(flag, 1);
                w.clear(right);
                w.go(end);
                w.code.push(']');
            });
            w.clear(left);
        });
    }

    /// Prints text with one cell that goes from character to character.
    fn print(&mut self, text: &str) {
        self.with_cells(|w, [cell]| {
            let mut now = 0;
            for byte in text.bytes() {
                w.change(cell, i32::from(byte) - now);
                w.go(cell);
                w.code.push('.');
                now = i32::from(byte);
            }
            w.clear(cell);
        });
    }

    /// Prints a number below 256: takes hundreds, then tens off a copy, and leaves out leading zeros.
    fn print_int(&mut self, variable: usize) {
        self.with_cells(|w, [rest, hundreds, tens, spare]| {
            w.copy(variable, rest, spare);
            w.divide(rest, 100, hundreds);
            w.divide(rest, 10, tens);
            w.with_cells(|w, [shown]| {
                w.copy(hundreds, shown, spare);
                w.repeat(shown, |w| {
                    w.clear(shown);
                    w.print_digit(hundreds);
                    w.step(spare, 1);
                });
                w.take(spare, shown);
                w.copy(tens, shown, spare);
                w.repeat(shown, |w| {
                    w.clear(shown);
                    w.print_digit(tens);
                });
            });
            w.print_digit(rest);
            w.clear(rest);
            w.clear(hundreds);
            w.clear(tens);
        });
    }

    /// Takes the divisor off the cell as often as it goes, and counts.
    fn divide(&mut self, cell: usize, divisor: i32, count: usize) {
        self.with_cells(|w, [limit, more]| {
            w.change(limit, divisor - 1);
            w.less(limit, cell, more);
            w.repeat(more, |w| {
                w.step(more, -1);
                w.step(count, 1);
                w.change(cell, -divisor);
                w.less(limit, cell, more);
            });
            w.clear(limit);
        });
    }

    fn print_digit(&mut self, cell: usize) {
        self.change(cell, i32::from(b'0'));
        self.go(cell);
        self.code.push('.');
        self.change(cell, -i32::from(b'0'));
    }
}

#[cfg(test)]
mod tests {
    use super::super::interpreter::run;
    use super::*;

    fn check(program: &Program, printed: &str) {
        assert_eq!(
            run(&program.compile(), 50_000_000).as_deref(),
            Some(printed),
            "{}",
            program.source()
        );
    }

    #[test]
    fn every_number_is_printed() {
        for value in 0..=255 {
            let program = Program {
                variables: vec![("a", value)],
                body: vec![Statement::PrintInt(0)],
            };
            check(&program, &value.to_string());
        }
    }

    #[test]
    fn comparisons_are_right_and_leave_their_operands() {
        for (a, b) in [
            (0, 0),
            (0, 1),
            (1, 0),
            (7, 7),
            (7, 8),
            (8, 7),
            (255, 254),
            (254, 255),
            (0, 255),
        ] {
            let print = || {
                vec![
                    Statement::PrintInt(0),
                    Statement::Print(" ".to_owned()),
                    Statement::PrintInt(1),
                ]
            };
            let mut body = vec![Statement::IfGreater(
                0,
                b,
                vec![Statement::Print("greater ".to_owned())],
            )];
            body.extend(print());
            let expected = format!("{}{a} {b}", if a > b { "greater " } else { "" });
            check(
                &Program {
                    variables: vec![("a", a), ("b", b)],
                    body,
                },
                &expected,
            );
        }
    }

    #[test]
    fn loops_add_up() {
        let body = vec![
            Statement::WhileLess(
                0,
                1,
                vec![
                    Statement::Add(0, 2),
                    Statement::IfGreater(0, 9, vec![Statement::Add(0, 2), Statement::Add(0, 2)]),
                ],
            ),
            Statement::PrintInt(0),
        ];
        // 3, 6, 9, then 12 + 6 = 18, then 21 + 6 = 27
        let program = Program {
            variables: vec![("acc", 0), ("end", 20), ("x", 3)],
            body,
        };
        check(&program, "27");
        assert!(
            program.source().contains(
                "    while (acc < end) {\n        acc = acc + x;\n        if (acc > 9) {\n"
            )
        );
    }

    #[test]
    fn words_are_printed() {
        let body = vec![Statement::Print("Hello, world!\n".to_owned())];
        check(
            &Program {
                variables: Vec::new(),
                body,
            },
            "Hello, world!\n",
        );
    }
}
