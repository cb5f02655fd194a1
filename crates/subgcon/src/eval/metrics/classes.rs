//! How often is the class right?
//!
//! F1 = 2 tp / (2 tp + fp + fn), 0 where a class has neither answers nor members.
//! Micro takes sums over classes, macro the mean over the F1 of each.

/// Both means of F1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct F1 {
    /// Over all decisions; equals the accuracy where a node has one class.
    pub micro: f64,
    /// Over classes, each counting the same.
    pub macro_mean: f64,
}

/// Share of answers that are right; 0 of none.
pub fn accuracy(truth: &[u32], answers: &[u32]) -> f64 {
    assert_eq!(truth.len(), answers.len(), "an answer for each");
    share(truth.iter().zip(answers).filter(|(a, b)| a == b).count(), truth.len())
}

/// F1 over the classes that are among the truth or the answers.
pub fn f1(truth: &[u32], answers: &[u32]) -> F1 {
    assert_eq!(truth.len(), answers.len(), "an answer for each");
    let classes = truth.iter().chain(answers).max().map_or(0, |&c| c as usize + 1);
    let mut counts = vec![Counts::default(); classes];
    for (&a, &b) in truth.iter().zip(answers) {
        if a == b {
            counts[a as usize].both += 1;
        } else {
            counts[a as usize].either += 1;
            counts[b as usize].either += 1;
        }
    }
    counts.retain(|c| c.both + c.either > 0);
    means(&counts)
}

/// Share of rows, (rows, outputs) of 0 or 1, that are right in every output.
pub fn members_accuracy(truth: &[u8], answers: &[u8], outputs: usize) -> f64 {
    assert_eq!(truth.len(), answers.len(), "an answer for each");
    let rows = truth.chunks_exact(outputs).zip(answers.chunks_exact(outputs));
    share(rows.filter(|(a, b)| a == b).count(), truth.len() / outputs)
}

/// F1 over all outputs of rows, (rows, outputs) of 0 or 1.
pub fn members_f1(truth: &[u8], answers: &[u8], outputs: usize) -> F1 {
    assert_eq!(truth.len(), answers.len(), "an answer for each");
    let mut counts = vec![Counts::default(); outputs];
    for (a, b) in truth.chunks_exact(outputs).zip(answers.chunks_exact(outputs)) {
        for ((&a, &b), counts) in a.iter().zip(b).zip(&mut counts) {
            counts.both += u64::from(a & b);
            counts.either += u64::from(a ^ b);
        }
    }
    means(&counts)
}

#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// tp.
    both: u64,
    /// fp + fn.
    either: u64,
}

impl Counts {
    fn f1(self) -> f64 {
        share(2 * self.both as usize, 2 * self.both as usize + self.either as usize)
    }
}

fn means(counts: &[Counts]) -> F1 {
    let all = counts.iter().fold(Counts::default(), |sum, c| Counts {
        both: sum.both + c.both,
        either: sum.either + c.either,
    });
    let sum: f64 = counts.iter().map(|c| c.f1()).sum();
    F1 { micro: all.f1(), macro_mean: sum / counts.len().max(1) as f64 }
}

fn share(of: usize, all: usize) -> f64 {
    if all == 0 { 0.0 } else { of as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_class_each_by_hand() {
        let (truth, answers) = ([0, 0, 1, 2], [0, 1, 1, 5]);
        assert_eq!(accuracy(&truth, &answers), 0.5);
        // Class 0: tp 1, fn 1; 1: tp 1, fp 1; 2 and 5: none right; 3 and 4 do not count.
        let f1 = f1(&truth, &answers);
        assert_eq!(f1.micro, 0.5);
        assert!((f1.macro_mean - (2.0 / 3.0 + 2.0 / 3.0) / 4.0).abs() < 1e-15);
        assert_eq!(accuracy(&[], &[]), 0.0);
    }

    #[test]
    fn any_number_of_classes_each_by_hand() {
        let truth = [1, 0, 0, 1, 1, 0];
        let answers = [1, 0, 0, 1, 0, 0];
        // Output 0: tp 2; 1: fn 1; 2: nothing, which counts as 0.
        let f1 = members_f1(&truth, &answers, 3);
        assert_eq!(f1.micro, 0.8);
        assert!((f1.macro_mean - 1.0 / 3.0).abs() < 1e-15);
        assert_eq!(members_accuracy(&truth, &answers, 3), 0.5);
    }
}
