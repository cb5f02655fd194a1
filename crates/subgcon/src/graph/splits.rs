//! Which nodes are for training, validation and test.

use crate::rng::some_of;

/// What a node is for in one split.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Role {
    /// Outside this split.
    Unused = 0,
    /// For fitting a probe.
    Train = 1,
    /// For choosing settings.
    Validation = 2,
    /// For the final figure.
    Test = 3,
}

impl Role {
    /// The role behind a stored byte.
    pub fn from_byte(byte: u8) -> Option<Role> {
        [Role::Unused, Role::Train, Role::Validation, Role::Test].into_iter().nth(byte.into())
    }

    /// The role behind a word in a user's file; an empty word means unused.
    pub fn from_word(word: &str) -> Option<Role> {
        match word.trim().to_ascii_lowercase().as_str() {
            "train" | "training" | "tr" => Some(Role::Train),
            "val" | "valid" | "validation" | "dev" | "va" => Some(Role::Validation),
            "test" | "testing" | "te" => Some(Role::Test),
            "" | "none" | "unused" => Some(Role::Unused),
            _ => None,
        }
    }

    /// The role's name in tables and messages.
    pub fn name(self) -> &'static str {
        match self {
            Role::Unused => "unused",
            Role::Train => "train",
            Role::Validation => "validation",
            Role::Test => "test",
        }
    }
}

/// One division of the nodes. A node has one role, so the parts cannot overlap.
#[derive(Debug, Clone)]
pub struct Split {
    /// How the source calls it; "public" where it has no name.
    pub name: String,
    /// One role a node, as bytes of [`Role`].
    pub roles: Vec<u8>,
}

impl Split {
    /// A split in which every node is unused.
    pub fn unused(name: impl Into<String>, nodes: usize) -> Split {
        Split { name: name.into(), roles: vec![Role::Unused as u8; nodes] }
    }

    /// Gives `node` a role; the error is the different role it already has.
    pub fn assign(&mut self, node: usize, role: Role) -> Result<(), Role> {
        match Role::from_byte(self.roles[node]) {
            Some(old) if old != Role::Unused && old != role => Err(old),
            _ => {
                self.roles[node] = role as u8;
                Ok(())
            }
        }
    }

    /// Nodes in training, validation and test.
    pub fn counts(&self) -> [usize; 3] {
        count_roles(&self.roles)
    }

    /// With no more than `most` nodes in each part, drawn from those there are by lot.
    pub fn thinned(&self, most: usize) -> Split {
        let mut thin = Split::unused(&self.name[..], self.roles.len());
        for role in [Role::Train, Role::Validation, Role::Test] {
            let bytes = self.roles.iter().enumerate();
            let nodes: Vec<usize> =
                bytes.filter(|&(_, &byte)| byte == role as u8).map(|(node, _)| node).collect();
            some_of(&nodes, most).into_iter().for_each(|node| thin.roles[node] = role as u8);
        }
        thin
    }
}

/// Nodes in training, validation and test among stored bytes.
pub(crate) fn count_roles(roles: &[u8]) -> [usize; 3] {
    [Role::Train, Role::Validation, Role::Test]
        .map(|role| roles.iter().filter(|&&byte| byte == role as u8).count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_keeps_its_first_role() {
        let mut split = Split::unused("public", 3);
        assert_eq!(split.assign(0, Role::Train), Ok(()));
        assert_eq!(split.assign(0, Role::Train), Ok(()));
        assert_eq!(split.assign(0, Role::Test), Err(Role::Train));
        assert_eq!(split.assign(2, Role::Test), Ok(()));
        assert_eq!(split.counts(), [1, 0, 1]);
    }

    #[test]
    fn a_thin_split_has_nodes_of_every_part() {
        let split = Split {
            name: "public".into(),
            roles: (0..1000).map(|node| [1, 1, 0, 2, 1, 3][node % 6]).collect(),
        };
        let thin = split.thinned(150);
        assert_eq!((&thin.name[..], thin.counts()), ("public", [150, 150, 150]));
        let kept = thin.roles.iter().zip(&split.roles);
        assert!(kept.clone().all(|(&thin, &all)| thin == 0 || thin == all));
        // Half of the nodes have about half of each part: 75 ± 6 at one deviation.
        let half = Split { name: String::new(), roles: thin.roles[..500].to_vec() };
        assert!(half.counts().iter().all(|&count| (50..=100).contains(&count)), "{half:?}");
        assert_eq!(split.thinned(1000).roles, split.roles);
    }

    #[test]
    fn words_of_other_programs_are_known() {
        assert_eq!(Role::from_word("va"), Some(Role::Validation));
        assert_eq!(Role::from_word(" Test "), Some(Role::Test));
        assert_eq!(Role::from_word(""), Some(Role::Unused));
        assert_eq!(Role::from_word("holdout"), None);
        assert_eq!(Role::from_byte(4), None);
    }
}
