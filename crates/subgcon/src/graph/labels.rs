//! Classes of nodes: one each, or any number each.

use crate::math::Array;

/// What the user knows of the nodes' classes. Only evaluation looks at it.
#[derive(Debug, Clone)]
pub enum Labels {
    /// At most one class a node.
    Single {
        /// Index into `names`, or -1 for a node without label.
        classes: Array<i32>,
        /// The user's names of the classes.
        names: Vec<String>,
    },
    /// Any number of classes a node.
    Multi {
        /// (nodes, names), row by row, 0 or 1.
        members: Array<u8>,
        /// The user's names of the classes.
        names: Vec<String>,
    },
}

impl Labels {
    /// From one name a node. Classes are numbered in the order of their names,
    /// as numbers where all are integers.
    pub fn from_names<S: AsRef<str>>(names: &[Option<S>]) -> Labels {
        let mut classes: Vec<&str> = names.iter().flatten().map(AsRef::as_ref).collect();
        classes.sort_unstable();
        classes.dedup();
        if classes.iter().all(|name| name.parse::<i64>().is_ok()) {
            classes.sort_by_key(|name| name.parse::<i64>().unwrap_or(0));
        }
        let order: hashbrown::HashMap<&str, i32> =
            classes.iter().enumerate().map(|(index, &name)| (name, index as i32)).collect();
        let indices: Vec<i32> = names
            .iter()
            .map(|name| name.as_ref().map_or(-1, |name| order[name.as_ref()]))
            .collect();
        Labels::Single {
            classes: indices.into(),
            names: classes.into_iter().map(str::to_owned).collect(),
        }
    }

    /// From one integer a node; `None` is a node without label.
    pub fn from_integers(labels: &[Option<i64>]) -> Labels {
        let mut classes: Vec<i64> = labels.iter().flatten().copied().collect();
        classes.sort_unstable();
        classes.dedup();
        let indices: Vec<i32> = labels
            .iter()
            .map(|label| {
                label.map_or(-1, |label| classes.binary_search(&label).map_or(-1, |c| c as i32))
            })
            .collect();
        Labels::Single {
            classes: indices.into(),
            names: classes.iter().map(i64::to_string).collect(),
        }
    }

    /// Names of the classes.
    pub fn names(&self) -> &[String] {
        match self {
            Labels::Single { names, .. } | Labels::Multi { names, .. } => names,
        }
    }

    /// Number of nodes.
    pub fn nodes(&self) -> usize {
        match self {
            Labels::Single { classes, .. } => classes.len(),
            Labels::Multi { members, names } => members.len() / names.len().max(1),
        }
    }

    /// How many nodes each class has.
    pub fn class_sizes(&self) -> Vec<u64> {
        let mut sizes = vec![0; self.names().len()];
        match self {
            Labels::Single { classes, .. } => {
                classes.iter().filter(|&&c| c >= 0).for_each(|&c| sizes[c as usize] += 1);
            }
            Labels::Multi { members, names } => {
                for row in members.chunks_exact(names.len().max(1)) {
                    sizes.iter_mut().zip(row).for_each(|(size, &bit)| *size += u64::from(bit));
                }
            }
        }
        sizes
    }

    /// Nodes with at least one class.
    pub fn labelled(&self) -> usize {
        match self {
            Labels::Single { classes, .. } => classes.iter().filter(|&&c| c >= 0).count(),
            Labels::Multi { members, names } => members
                .chunks_exact(names.len().max(1))
                .filter(|row| row.iter().any(|&bit| bit != 0))
                .count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_numbered_in_the_order_of_their_names() {
        let labels = Labels::from_names(&[Some("10"), None, Some("9"), Some("10")]);
        assert_eq!(labels.names(), ["9", "10"]);
        assert_eq!(labels.class_sizes(), [1, 2]);
        assert_eq!(labels.labelled(), 3);
        let labels = Labels::from_names(&[Some("b"), Some("10"), Some("9")]);
        assert_eq!(labels.names(), ["10", "9", "b"]);
        let labels = Labels::from_integers(&[Some(6), Some(-1), None]);
        assert_eq!(labels.names(), ["-1", "6"]);
        let Labels::Single { classes, .. } = labels else { panic!("single") };
        assert_eq!(&classes[..], [1, 0, -1]);
    }
}
