//! Can these embeddings, labels and roles be evaluated at all?

use std::path::Path;

use crate::error::{Error, Place, Result, shown};
use crate::graph::{Labels, Role, Split};
use crate::math::Matrix;

/// A fault in something that has no file here.
pub(super) fn refuse(thing: &str, problem: impl Into<String>, remedy: impl Into<String>) -> Error {
    Error::input(Path::new(thing), problem, remedy)
}

/// A row for each node, all of it finite numbers.
pub(super) fn embeddings(embeddings: &Matrix<f32>, nodes: usize, owner: &str) -> Result<()> {
    if embeddings.rows != nodes {
        let problem = format!("{} rows, but {owner} are of {nodes} nodes", embeddings.rows);
        return Err(refuse("embeddings", problem, "give one row a node, in the graph's order"));
    }
    if embeddings.width == 0 {
        return Err(refuse("embeddings", "rows have no columns", "give at least one column"));
    }
    match embeddings.values.iter().position(|x| !x.is_finite()) {
        None => Ok(()),
        Some(at) => Err(Error::input(
            Place::row("embeddings", (at / embeddings.width) as u64),
            format!("column {} is {}", at % embeddings.width, embeddings.values[at]),
            "train again with a smaller learning rate, or mend the file they were read from",
        )),
    }
}

/// One class a node, -1 where there is none.
pub(super) fn single<'a>(labels: &'a Labels, what: &str) -> Result<&'a [i32]> {
    match labels {
        Labels::Single { classes, .. } => Ok(classes),
        Labels::Multi { .. } => Err(refuse(
            "labels",
            format!("a node may have several classes, and {what} needs one a node"),
            "give labels with one class a node, or leave this figure out",
        )),
    }
}

/// The first node with a role in a split and no label. Of labels with one class a node: others say
/// something of every node.
pub fn unlabelled(labels: &Labels, split: &Split) -> Option<(u32, Role)> {
    let Labels::Single { classes, .. } = labels else { return None };
    let nodes = (0u32..).zip(split.roles.iter().zip(classes.iter()));
    let without = nodes.filter(|(_, (_, class))| **class < 0);
    let mut with_role =
        without.filter_map(|(node, (&byte, _))| Some((node, Role::from_byte(byte)?)));
    with_role.find(|(_, role)| *role != Role::Unused)
}

/// Nodes of a split by role: training, validation, test.
pub(super) struct Parts {
    /// The split, as messages name it.
    pub(super) place: String,
    pub(super) train: Vec<u32>,
    pub(super) validation: Vec<u32>,
    pub(super) test: Vec<u32>,
}

impl Parts {
    /// Every role but validation has to be there, and every node to have a label.
    pub(super) fn of(labels: &Labels, split: &Split) -> Result<Parts> {
        let place = format!("split {}", shown(&split.name));
        if split.roles.len() != labels.nodes() {
            let problem = format!(
                "roles for {} nodes, but labels are of {}",
                split.roles.len(),
                labels.nodes()
            );
            return Err(refuse(&place, problem, "give one role a node, in the graph's order"));
        }
        let with = |role: Role| -> Vec<u32> {
            let nodes = split.roles.iter().enumerate().filter(|&(_, &byte)| byte == role as u8);
            nodes.map(|(node, _)| node as u32).collect()
        };
        let parts = Parts {
            place: place.clone(),
            train: with(Role::Train),
            validation: with(Role::Validation),
            test: with(Role::Test),
        };
        for (role, nodes) in [(Role::Train, &parts.train), (Role::Test, &parts.test)] {
            if nodes.is_empty() {
                let problem = format!("no {} nodes", role.name());
                return Err(refuse(
                    &place,
                    problem,
                    "assign some, or draw random splits with some",
                ));
            }
        }
        if let Some((node, role)) = unlabelled(labels, split) {
            let problem = format!("node {node} is a {} node and has no label", role.name());
            return Err(refuse(&place, problem, "label it, or take it out of the split"));
        }
        Ok(parts)
    }

    /// The roles with their nodes.
    pub(super) fn roles(&self) -> [(Role, &[u32]); 3] {
        [
            (Role::Train, &self.train[..]),
            (Role::Validation, &self.validation[..]),
            (Role::Test, &self.test[..]),
        ]
    }
}
