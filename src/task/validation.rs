//! Checks that the tasks' configurations share, and the messages when one fails.

use std::fmt::Display;

/// Both ends of a range of difficulty must lie in `lowest..=highest`, in order.
///
/// `name` is the part that the two fields share: `range("terms", ..)` checks `min_terms` and `max_terms`.
pub(super) fn range<T: PartialOrd + Display>(
    name: &str,
    [min, max]: [T; 2],
    [lowest, highest]: [T; 2],
) -> Result<(), String> {
    if min < lowest || min > highest {
        return Err(format!(
            "min_{name} = {min}: expected {lowest} to {highest}"
        ));
    }
    if max < min || max > highest {
        return Err(format!(
            "max_{name} = {max}: expected {min} (min_{name}) to {highest}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_name_field_value_and_range() {
        assert_eq!(range("n", [1, 5], [1, 9]), Ok(()));
        assert_eq!(
            range("n", [0, 5], [1, 9]),
            Err("min_n = 0: expected 1 to 9".to_owned())
        );
        assert_eq!(
            range("n", [3, 2], [1, 9]),
            Err("max_n = 2: expected 3 (min_n) to 9".to_owned())
        );
        assert_eq!(
            range("n", [3, 10], [1, 9]),
            Err("max_n = 10: expected 3 (min_n) to 9".to_owned())
        );
    }
}
