//! What do labels ask of a model, and does it answer right?
//!
//! Classes are those with a training node. Where a node may have several, each class is
//! a yes or no with threshold ½, and one that all training nodes give the same answer
//! to is always answered so.

use super::checks::{Parts, refuse};
use super::logistic::{Fitting, Logistic, classes_of};
use super::metrics;
use super::probe::Figures;
use super::rows::Rows;
use super::surprise::surprise;
use crate::error::{Error, Result, shown};
use crate::graph::{Labels, Role};
use crate::math::Matrix;

/// Nodes whose rows are gathered together when a model is asked.
const NODES: usize = 4096;

/// What is asked of a model.
pub(super) enum Task<'a> {
    /// Which of the classes? `classes` of all nodes, `places` from a class to its place
    /// among those with a training node.
    One { classes: &'a [i32], places: Vec<u32>, count: usize },
    /// Which of the `outputs` classes apply? `asked` are those that training nodes
    /// answer differently, `constant` what is said of all others.
    Several { members: &'a [u8], asked: Vec<usize>, constant: Vec<u8> },
}

impl<'a> Task<'a> {
    pub(super) fn of(labels: &'a Labels, parts: &Parts) -> Result<Task<'a>> {
        let names = labels.names();
        let known = sizes(labels, &parts.train);
        for (role, nodes) in &parts.roles()[1..] {
            let there = sizes(labels, nodes);
            if let Some(class) = (0..names.len()).find(|&c| known[c] == 0 && there[c] > 0) {
                return Err(no_training_node(&parts.place, &names[class], *role));
            }
        }
        match labels {
            Labels::Single { classes, .. } => {
                let mut places = vec![u32::MAX; names.len()];
                let present = (0..names.len()).filter(|&class| known[class] > 0);
                present.enumerate().for_each(|(place, class)| places[class] = place as u32);
                let count = places.iter().filter(|&&place| place != u32::MAX).count();
                if count < 2 {
                    return Err(too_few(&parts.place, "training nodes are all of one class"));
                }
                Ok(Task::One { classes, places, count })
            }
            Labels::Multi { members, .. } => {
                let all = parts.train.len();
                let asked: Vec<usize> =
                    (0..names.len()).filter(|&c| known[c] > 0 && known[c] < all).collect();
                if asked.is_empty() {
                    return Err(too_few(&parts.place, "training nodes all have the same classes"));
                }
                let constant = known.iter().map(|&known| u8::from(known == all)).collect();
                Ok(Task::Several { members, asked, constant })
            }
        }
    }

    pub(super) fn several(&self) -> bool {
        matches!(self, Task::Several { .. })
    }

    pub(super) fn classes(&self) -> usize {
        match self {
            Task::One { count, .. } => *count,
            Task::Several { constant, .. } => constant.len(),
        }
    }

    /// Rows of nodes, to be fitted to what the nodes' labels ask.
    pub(super) fn fitting<'r>(&self, rows: &'r Matrix<f32>, nodes: &[u32]) -> Fitting<'r> {
        match self {
            Task::One { count, .. } => Fitting::one(rows, &self.truth(nodes), *count),
            Task::Several { members, asked, constant } => {
                let row = |&node: &u32| {
                    let start = node as usize * constant.len();
                    asked.iter().map(move |class| members[start + class])
                };
                Fitting::several(rows, nodes.iter().flat_map(row).collect(), asked.len())
            }
        }
    }

    /// Places of the nodes' classes, where each has one.
    fn truth(&self, nodes: &[u32]) -> Vec<u32> {
        let Task::One { classes, places, .. } = self else { return Vec::new() };
        nodes.iter().map(|&node| places[classes[node as usize] as usize]).collect()
    }

    pub(super) fn figures(&self, model: &Logistic, rows: &Rows<'_>, nodes: &[u32]) -> Figures {
        self.judged(&scores_of(model, rows, nodes), nodes)
    }

    /// As [`Task::figures`], and how surprising the labels are; that only where a node has
    /// one class.
    pub(super) fn figures_and_surprise(
        &self,
        model: &Logistic,
        rows: &Rows<'_>,
        nodes: &[u32],
    ) -> (Figures, Option<f64>) {
        let scores = scores_of(model, rows, nodes);
        let surprise = (!self.several()).then(|| surprise(&scores, &self.truth(nodes)));
        (self.judged(&scores, nodes), surprise)
    }

    fn judged(&self, scores: &Matrix<f64>, nodes: &[u32]) -> Figures {
        match self {
            Task::One { count, .. } => {
                let (truth, answers) = (self.truth(nodes), classes_of(scores));
                let side = |class| -> Vec<f64> {
                    let rows = scores.values.iter().zip(&truth);
                    rows.filter(|&(_, &truth)| truth == class).map(|(&score, _)| score).collect()
                };
                let f1 = metrics::f1(&truth, &answers);
                Figures {
                    nodes: nodes.len(),
                    accuracy: metrics::accuracy(&truth, &answers),
                    micro_f1: f1.micro,
                    macro_f1: f1.macro_mean,
                    auc: if *count == 2 { metrics::roc_auc(&side(1), &side(0)) } else { None },
                }
            }
            Task::Several { members, asked, constant } => {
                let outputs = constant.len();
                let mut truth = Vec::with_capacity(nodes.len() * outputs);
                let mut answers = Vec::with_capacity(nodes.len() * outputs);
                for (at, &node) in nodes.iter().enumerate() {
                    truth.extend_from_slice(&members[node as usize * outputs..][..outputs]);
                    answers.extend_from_slice(constant);
                    let row = at * outputs;
                    for (&class, &score) in asked.iter().zip(scores.row(at)) {
                        answers[row + class] = u8::from(score > 0.0);
                    }
                }
                let f1 = metrics::members_f1(&truth, &answers, outputs);
                Figures {
                    nodes: nodes.len(),
                    accuracy: metrics::members_accuracy(&truth, &answers, outputs),
                    micro_f1: f1.micro,
                    macro_f1: f1.macro_mean,
                    auc: None,
                }
            }
        }
    }
}

fn scores_of(model: &Logistic, rows: &Rows<'_>, nodes: &[u32]) -> Matrix<f64> {
    let mut scores = Matrix::zeros(0, model.outputs());
    for some in nodes.chunks(NODES) {
        scores.values.extend(model.scores(&rows.of(some)).values);
        scores.rows += some.len();
    }
    scores
}

/// How many of some nodes each class has.
fn sizes(labels: &Labels, nodes: &[u32]) -> Vec<usize> {
    let outputs = labels.names().len();
    let mut sizes = vec![0; outputs];
    for node in nodes.iter().map(|&node| node as usize) {
        match labels {
            Labels::Single { classes, .. } => sizes[classes[node] as usize] += 1,
            Labels::Multi { members, .. } => {
                let row = &members[node * outputs..(node + 1) * outputs];
                sizes.iter_mut().zip(row).for_each(|(size, &bit)| *size += usize::from(bit));
            }
        }
    }
    sizes
}

fn no_training_node(place: &str, class: &str, role: Role) -> Error {
    let problem = format!("class {} has {} nodes but no training node", shown(class), role.name());
    refuse(
        place,
        problem,
        "move one of its nodes to training, take them out of the split, or draw random splits",
    )
}

fn too_few(place: &str, problem: &str) -> Error {
    refuse(place, problem, "assign training nodes of at least two classes")
}
