//! Which nodes train, validate and test, where nobody has said?

use super::checks::{refuse, single};
use crate::error::{Error, Result, shown};
use crate::graph::{Labels, Role, Split};
use crate::rng::Stream;

/// Splits with so many training and validation nodes of each class; all other labelled
/// nodes are for the test. The usual numbers are 20 and 30. Split i of a seed is the
/// same however many are drawn.
pub fn random_splits(
    labels: &Labels,
    train: usize,
    validation: usize,
    seed: u64,
    count: usize,
) -> Result<Vec<Split>> {
    let classes = single(labels, "drawing nodes class by class")?;
    if train == 0 {
        return Err(Error::setting("train", 0, "choose at least one training node a class"));
    }
    let names = labels.names();
    let mut nodes_of = vec![Vec::new(); names.len()];
    for (node, &class) in classes.iter().enumerate() {
        if class >= 0 {
            nodes_of[class as usize].push(node);
        }
    }
    let needed = train + validation + 1;
    let small = |(nodes, _): &(&Vec<usize>, &String)| !nodes.is_empty() && nodes.len() < needed;
    if let Some((nodes, name)) = nodes_of.iter().zip(names).find(small) {
        return Err(refuse(
            "labels",
            format!(
                "class {} has {} nodes; {train} for training, {validation} for validation and \
                 one for the test are {needed}",
                shown(name),
                nodes.len()
            ),
            "ask for fewer a class (--train-per-class, --validation-per-class), or remove the labels \
             of that class",
        ));
    }
    let draw = |index: usize| {
        let mut stream = Stream::new(seed, "splits", index as u64);
        let mut split = Split::unused(format!("random {index}"), classes.len());
        for nodes in &nodes_of {
            let mut nodes = nodes.clone();
            for at in 0..nodes.len() {
                if at < train + validation {
                    let other = at + stream.below((nodes.len() - at) as u64) as usize;
                    nodes.swap(at, other);
                }
                let role = match at {
                    at if at < train => Role::Train,
                    at if at < train + validation => Role::Validation,
                    _ => Role::Test,
                };
                split.roles[nodes[at]] = role as u8;
            }
        }
        split
    };
    Ok((0..count).map(draw).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        let names: Vec<Option<i64>> =
            (0..40).map(|node| if node == 7 { None } else { Some(node % 3) }).collect();
        Labels::from_integers(&names)
    }

    #[test]
    fn every_class_gets_its_numbers_and_unlabelled_nodes_none() {
        let labels = labels();
        let splits = random_splits(&labels, 2, 3, 1, 4).unwrap();
        for split in &splits {
            assert_eq!(split.counts(), [6, 9, 24]);
            assert_eq!(split.roles[7], Role::Unused as u8);
            for class in 0..3 {
                let train = (0..40).filter(|&node| node % 3 == class && node != 7);
                let train = train.filter(|&node| split.roles[node] == Role::Train as u8);
                assert_eq!(train.count(), 2);
            }
        }
        assert_ne!(splits[0].roles, splits[1].roles);
        assert_eq!(random_splits(&labels, 2, 3, 1, 2).unwrap()[1].roles, splits[1].roles);
        assert_ne!(random_splits(&labels, 2, 3, 2, 1).unwrap()[0].roles, splits[0].roles);
    }

    #[test]
    fn a_class_that_is_too_small_is_named() {
        let error = random_splits(&labels(), 5, 8, 1, 1).unwrap_err().to_string();
        assert_eq!(
            error,
            "labels: class \"1\" has 12 nodes; 5 for training, 8 for validation and one for the \
             test are 14; ask for fewer a class (--train-per-class, --validation-per-class), or \
             remove the labels of that class"
        );
        assert!(random_splits(&labels(), 0, 1, 1, 1).is_err());
        let several = Labels::Multi { members: vec![1, 0].into(), names: vec!["a".into()] };
        assert!(random_splits(&several, 1, 1, 1, 1).is_err());
    }
}
