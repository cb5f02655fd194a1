//! Which nodes train, validate and test, where nobody has said?

use std::str::FromStr;

use super::checks::refuse;
use crate::error::{Error, Result, shown};
use crate::graph::{Labels, Role, Split};
use crate::rng::Stream;

/// How large the parts of a random split are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Sizes {
    /// So many training and validation nodes of each class; all other labelled nodes are for the
    /// test. Where a node has one class.
    PerClass {
        /// Usually 20.
        train: usize,
        /// Usually 30.
        validation: usize,
    },
    /// Training, validation and test nodes, drawn from all that have a label; but of each class
    /// there is one, at least, that trains.
    Parts([Part; 3]),
}

/// One part of a split.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Part {
    /// So many nodes.
    Nodes(usize),
    /// Of all labelled nodes; below 1.
    Share(f64),
    /// What the other parts leave.
    Rest,
}

impl FromStr for Sizes {
    type Err = Error;

    /// `A/B/C`: training, validation and test, each a number of nodes, a share, or `rest`.
    fn from_str(text: &str) -> Result<Sizes> {
        let part = |word: &str| match (word.parse(), word.parse()) {
            (Ok(nodes), _) => Some(Part::Nodes(nodes)),
            (_, Ok(share)) => (share > 0.0 && share < 1.0).then_some(Part::Share(share)),
            _ => (word == "rest").then_some(Part::Rest),
        };
        let parts: Option<Vec<Part>> = text.split('/').map(|word| part(word.trim())).collect();
        let parts = parts.and_then(|parts| <[Part; 3]>::try_from(parts).ok());
        parts.map(Sizes::Parts).ok_or_else(|| {
            let remedy = "write training/validation/test, each a number of nodes, a share below 1 or \
                          \"rest\": 0.6/0.2/0.2, 140/500/rest";
            Error::setting("sizes", text, remedy)
        })
    }
}

/// Random splits of the labelled nodes. Split i of a seed is the same however many are drawn.
pub fn random_splits(labels: &Labels, sizes: Sizes, seed: u64, count: usize) -> Result<Vec<Split>> {
    match sizes {
        Sizes::PerClass { train, validation } => by_class(labels, train, validation, seed, count),
        Sizes::Parts(parts) => by_parts(labels, parts, seed, count),
    }
}

fn by_class(
    labels: &Labels,
    train: usize,
    validation: usize,
    seed: u64,
    count: usize,
) -> Result<Vec<Split>> {
    let Labels::Single { classes, .. } = labels else {
        let problem =
            "a node may have several classes, and drawing nodes class by class needs one a node";
        return Err(refuse("labels", problem, "give sizes of the whole (--sizes 0.1/0.1/0.8)"));
    };
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
    let needed = train.saturating_add(validation).saturating_add(1);
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
            "ask for fewer a class (--train-per-class, --validation-per-class), for sizes of the whole \
             (--sizes 0.6/0.2/0.2), or remove the labels of that class",
        ));
    }
    let draw = |index: usize| {
        let mut stream = Stream::new(seed, "splits", index as u64);
        let mut split = Split::unused(format!("random {index}"), classes.len());
        for nodes in &nodes_of {
            let mut nodes = nodes.clone();
            let drawn = train + validation;
            shuffle(&mut nodes, drawn, &mut stream);
            for (at, node) in nodes.into_iter().enumerate() {
                let role = match at {
                    at if at < train => Role::Train,
                    at if at < drawn => Role::Validation,
                    _ => Role::Test,
                };
                split.roles[node] = role as u8;
            }
        }
        split
    };
    Ok((0..count).map(draw).collect())
}

fn by_parts(labels: &Labels, parts: [Part; 3], seed: u64, count: usize) -> Result<Vec<Split>> {
    let labelled: Vec<usize> = match labels {
        Labels::Single { classes, .. } => {
            (0..classes.len()).filter(|&node| classes[node] >= 0).collect()
        }
        Labels::Multi { .. } => (0..labels.nodes()).collect(),
    };
    let counts = counts(parts, labelled.len())?;
    let draw = |index: usize| {
        let mut nodes = labelled.clone();
        let mut stream = Stream::new(seed, "sizes of splits", index as u64);
        let all = nodes.len();
        shuffle(&mut nodes, all, &mut stream);
        let ahead = one_of_each_class(labels, &nodes);
        let needed = ahead.iter().filter(|&&ahead| ahead).count();
        if needed > counts[0] {
            let remedy = "ask for more training nodes";
            let problem = format!("{} training nodes, and {needed} to see every class", counts[0]);
            return Err(refuse("sizes", problem, remedy));
        }
        nodes.sort_by_key(|&node| !ahead[node]);
        let mut split = Split::unused(format!("random {index}"), labels.nodes());
        let mut nodes = nodes.into_iter();
        for (role, count) in [Role::Train, Role::Validation, Role::Test].into_iter().zip(counts) {
            nodes.by_ref().take(count).for_each(|node| split.roles[node] = role as u8);
        }
        Ok(split)
    };
    (0..count).map(draw).collect()
}

/// Draws the first `drawn` of them by lot, and leaves the others behind.
fn shuffle(nodes: &mut [usize], drawn: usize, stream: &mut Stream) {
    for at in 0..drawn.min(nodes.len()) {
        let other = at + stream.below((nodes.len() - at) as u64) as usize;
        nodes.swap(at, other);
    }
}

/// Nodes of each part, of so many labelled ones. Shares that add up to 1 leave none out.
fn counts(parts: [Part; 3], labelled: usize) -> Result<[usize; 3]> {
    let refused = |problem: String, remedy: &str| Err(refuse("sizes", problem, remedy));
    for part in parts {
        if let Part::Share(share) = part
            && !(0.0..=1.0).contains(&share)
        {
            return refused(format!("a share of {share}"), "give one from 0 to 1");
        }
    }
    let (mut shares, mut counts) = (0.0, [0; 3]);
    let of = |share: f64| (share * labelled as f64).round() as usize;
    for (count, part) in counts.iter_mut().zip(parts) {
        *count = match part {
            Part::Nodes(nodes) => nodes,
            Part::Share(share) => {
                let before = of(shares);
                shares += share;
                of(shares) - before
            }
            Part::Rest => 0,
        };
    }
    let asked = counts.iter().fold(0usize, |sum, &count| sum.saturating_add(count));
    if asked > labelled {
        let problem = format!("{asked} nodes, and {labelled} can be drawn");
        return refused(problem, "ask for fewer");
    }
    match parts.iter().filter(|part| **part == Part::Rest).count() {
        0 => {}
        1 => {
            let rest = parts.iter().position(|part| *part == Part::Rest);
            counts[rest.expect("it was counted")] = labelled - asked;
        }
        _ => return refused("more than one part is the rest".into(), "give the size of one"),
    }
    for (role, count) in [(Role::Train, counts[0]), (Role::Test, counts[2])] {
        if count == 0 {
            return refused(format!("no {} nodes", role.name()), "ask for at least one");
        }
    }
    Ok(counts)
}

/// For each node whether it trains before others do: of every class the first in this order, the classes
/// with the fewest nodes first, so that a node with several of them stands for all.
fn one_of_each_class(labels: &Labels, order: &[usize]) -> Vec<bool> {
    let classes = labels.names().len();
    let mut nodes_of = vec![Vec::new(); classes];
    for &node in order {
        match labels {
            Labels::Single { classes, .. } => nodes_of[classes[node] as usize].push(node),
            Labels::Multi { members, .. } => {
                let row = &members[node * classes..][..classes];
                let of = row.iter().zip(&mut nodes_of).filter(|(member, _)| **member != 0);
                of.for_each(|(_, nodes)| nodes.push(node));
            }
        }
    }
    nodes_of.sort_by_key(Vec::len);
    let mut ahead = vec![false; labels.nodes()];
    for nodes in nodes_of {
        if let (Some(&first), false) = (nodes.first(), nodes.iter().any(|&node| ahead[node])) {
            ahead[first] = true;
        }
    }
    ahead
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels() -> Labels {
        let names: Vec<Option<i64>> =
            (0..40).map(|node| if node == 7 { None } else { Some(node % 3) }).collect();
        Labels::from_integers(&names)
    }

    fn per_class(
        labels: &Labels,
        train: usize,
        validation: usize,
        seed: u64,
    ) -> Result<Vec<Split>> {
        random_splits(labels, Sizes::PerClass { train, validation }, seed, 4)
    }

    fn parts(text: &str) -> Sizes {
        text.parse().unwrap()
    }

    #[test]
    fn every_class_gets_its_numbers_and_unlabelled_nodes_none() {
        let labels = labels();
        let splits = per_class(&labels, 2, 3, 1).unwrap();
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
        let sizes = Sizes::PerClass { train: 2, validation: 3 };
        assert_eq!(random_splits(&labels, sizes, 1, 2).unwrap()[1].roles, splits[1].roles);
        assert_ne!(random_splits(&labels, sizes, 2, 1).unwrap()[0].roles, splits[0].roles);
    }

    #[test]
    fn a_class_that_is_too_small_is_named() {
        let error = per_class(&labels(), 5, 8, 1).unwrap_err().to_string();
        assert_eq!(
            error,
            "labels: class \"1\" has 12 nodes; 5 for training, 8 for validation and one for the \
             test are 14; ask for fewer a class (--train-per-class, --validation-per-class), for sizes \
             of the whole (--sizes 0.6/0.2/0.2), or remove the labels of that class"
        );
        assert!(per_class(&labels(), 0, 1, 1).is_err());
        let several = Labels::Multi { members: vec![1, 0].into(), names: vec!["a".into()] };
        let error = per_class(&several, 1, 1, 1).unwrap_err().to_string();
        assert!(error.ends_with("needs one a node; give sizes of the whole (--sizes 0.1/0.1/0.8)"));
    }

    #[test]
    fn parts_have_their_sizes_and_every_class_trains() {
        // 39 labelled nodes: 0.5 of them are 19.5, and shares leave none out.
        for (text, wanted) in [
            ("0.5/0.25/0.25", [20, 9, 10]),
            ("5/7/rest", [5, 7, 27]),
            ("rest / 4 / 0.5", [15, 4, 20]),
            ("3/0/3", [3, 0, 3]),
        ] {
            let splits = random_splits(&labels(), parts(text), 1, 30).unwrap();
            for split in &splits {
                assert_eq!(split.counts(), wanted, "{text}");
                assert_eq!(split.roles[7], Role::Unused as u8);
                let trains = |class: usize| {
                    (0..40).any(|node| node % 3 == class && split.roles[node] == Role::Train as u8)
                };
                assert!((0..3).all(trains), "{text}");
            }
            assert_ne!(splits[0].roles, splits[1].roles);
            assert_eq!(
                random_splits(&labels(), parts(text), 1, 2).unwrap()[1].roles,
                splits[1].roles
            );
        }
        // A share of 40 % of each class in the mean: 13 nodes a class, 30 splits, 5.2 ± 0.3 each.
        let splits = random_splits(&labels(), parts("0.4/0.3/0.3"), 5, 30).unwrap();
        for class in 0..3 {
            let of = |split: &Split| {
                let nodes = (0..40).filter(|&node| node % 3 == class && node != 7);
                nodes.filter(|&node| split.roles[node] == Role::Train as u8).count()
            };
            let mean = splits.iter().map(of).sum::<usize>() as f64 / 30.0;
            assert!((4.2..6.2).contains(&mean), "{class}: {mean}");
        }
    }

    #[test]
    fn a_node_of_several_rare_classes_stands_for_all_of_them() {
        // Node 17 alone has class b, nodes 17 and 30 class c, all class a.
        let members = (0..50).flat_map(|n| [1, u8::from(n == 17), u8::from(n == 17 || n == 30)]);
        let names = ["a", "b", "c"].map(str::to_owned).into();
        let labels = Labels::Multi { members: members.collect::<Vec<u8>>().into(), names };
        for split in random_splits(&labels, parts("1/2/rest"), 3, 10).unwrap() {
            assert_eq!((split.roles[17], split.counts()), (Role::Train as u8, [1, 2, 47]));
        }
    }

    #[test]
    fn sizes_that_cannot_be_had_are_refused() {
        for text in
            ["", "1/2", "1/2/3/4", "a/1/1", "1.0/1/1", "-1/2/3", "-0.1/2/3", "NaN/1/1", "1/2/"]
        {
            let error = text.parse::<Sizes>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("sizes = {text}: write training")), "{error}");
        }
        for (text, wanted) in [
            ("30/5/5", "sizes: 40 nodes, and 39 can be drawn; ask for fewer"),
            ("0.6/0.3/0.3", "sizes: 47 nodes, and 39 can be drawn; ask for fewer"),
            ("rest/1/rest", "sizes: more than one part is the rest; give the size of one"),
            ("0/5/rest", "sizes: no train nodes; ask for at least one"),
            ("30/9/rest", "sizes: no test nodes; ask for at least one"),
            (
                "2/5/5",
                "sizes: 2 training nodes, and 3 to see every class; ask for more training nodes",
            ),
        ] {
            let error = random_splits(&labels(), parts(text), 1, 1).unwrap_err().to_string();
            assert_eq!(error, wanted);
        }
        for share in [-0.2, 1.5, f64::NAN] {
            let sizes = Sizes::Parts([Part::Share(0.6), Part::Share(share), Part::Rest]);
            let error = random_splits(&labels(), sizes, 1, 1).unwrap_err().to_string();
            assert_eq!(error, format!("sizes: a share of {share}; give one from 0 to 1"));
        }
        let huge = format!("{0}/{0}/{0}", usize::MAX);
        assert!(random_splits(&labels(), parts(&huge), 1, 1).is_err());
    }
}
