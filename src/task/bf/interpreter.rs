//! Runs Brainfuck programs: 30,000 cells of 8 bits that wrap, no input, a limit of steps.

/// Cells of the tape.
const CELLS: usize = 30_000;

/// An instruction; runs of the same one are one, jumps know where they lead.
enum Instruction {
    Add(u8),
    Move(usize),
    Clear,
    Output,
    /// To the instruction after the loop, where the cell is 0.
    Enter(usize),
    /// Back to the first instruction of the loop, where the cell is not 0.
    Repeat(usize),
}

/// What the program prints; `None` where its brackets do not match, it reads input or takes more steps.
pub(super) fn run(program: &str, most_steps: u64) -> Option<String> {
    let code = decode(program)?;
    let mut tape = vec![0_u8; CELLS];
    let (mut cell, mut at, mut printed) = (0, 0, String::new());
    for _ in 0..most_steps {
        match code.get(at) {
            None => return Some(printed),
            Some(Instruction::Add(amount)) => tape[cell] = tape[cell].wrapping_add(*amount),
            Some(Instruction::Move(steps)) => {
                cell += steps;
                cell -= if cell >= CELLS { CELLS } else { 0 };
            }
            Some(Instruction::Clear) => tape[cell] = 0,
            Some(Instruction::Output) => printed.push(char::from(tape[cell])),
            Some(Instruction::Enter(end)) if tape[cell] == 0 => at = *end,
            Some(Instruction::Repeat(start)) if tape[cell] != 0 => at = *start,
            Some(Instruction::Enter(_) | Instruction::Repeat(_)) => {}
        }
        at += 1;
    }
    None
}

fn decode(program: &str) -> Option<Vec<Instruction>> {
    let mut code: Vec<Instruction> = Vec::new();
    let mut open = Vec::new();
    for symbol in program.chars() {
        match symbol {
            '+' | '-' => {
                let amount = if symbol == '+' { 1 } else { u8::MAX };
                match code.last_mut() {
                    Some(Instruction::Add(sum)) => *sum = sum.wrapping_add(amount),
                    _ => code.push(Instruction::Add(amount)),
                }
            }
            '>' | '<' => {
                let steps = if symbol == '>' { 1 } else { CELLS - 1 };
                match code.last_mut() {
                    Some(Instruction::Move(sum)) => *sum = (*sum + steps) % CELLS,
                    _ => code.push(Instruction::Move(steps)),
                }
            }
            '.' => code.push(Instruction::Output),
            ',' => return None,
            '[' => {
                open.push(code.len());
                code.push(Instruction::Enter(0));
            }
            ']' => {
                let start = open.pop()?;
                if matches!(code[start + 1..], [Instruction::Add(u8::MAX)]) {
                    code.truncate(start);
                    code.push(Instruction::Clear);
                } else {
                    code[start] = Instruction::Enter(code.len());
                    code.push(Instruction::Repeat(start));
                }
            }
            _ => {}
        }
    }
    open.is_empty().then_some(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_by_hand() {
        let check = |program: &str, printed: &str| {
            assert_eq!(run(program, 100_000).as_deref(), Some(printed));
        };
        check("", "");
        check("comments only", "");
        check("++++++++[>++++++++<-]>+.", "A");
        check("+[>+++++++++++++[>+++++<-]<-]>>.", "A");
        check("-[>+<-----]>---.", "0");
        check("<++++++++[<++++++++>-]<+.", "A");
        check("++++[->+++[->++++[->+<]<]<]>>>[-<<<+>>>]<<<.", "0");
    }

    #[test]
    fn programs_that_do_not_end_well() {
        for program in ["[", "]", "+[]", "+[>+<]", ","] {
            assert_eq!(run(program, 10_000), None, "{program}");
        }
    }

    #[test]
    fn reads_the_librarys_programs() {
        let program = ">[-]>[-]<>+++++++[<+++++++++++++++>-]<+.---------.>+++++[<+++++>-]<..-.<";
        assert_eq!(run(program, 10_000).as_deref(), Some("jazzy"));
    }
}
