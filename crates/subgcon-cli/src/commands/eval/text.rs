//! What does an evaluation tell people? A line for all splits and one for each, what makes them doubtful,
//! and what was found without a probe.

use subgcon::eval::{Figures, ProbeSettings};
use subgcon::graph::Labels;

use super::{Summary, called, figure};
use crate::format::{counted, short, thousands};

/// All of it. `chosen`: the user chose the values of C.
pub(super) fn text(
    summary: &Summary,
    labels: &Labels,
    settings: &ProbeSettings,
    chosen: bool,
) -> String {
    let of = |figures: &Figures| tenths(figure(labels, figures));
    let std = summary.test_std.map_or_else(String::new, |std| format!(" ± {:.1}", 100.0 * std));
    let mut text = format!(
        "{} {:.1}{std} % over {} ({}, {})\n",
        called(summary.metric),
        100.0 * summary.test_mean,
        counted(summary.splits.len() as u64, "split"),
        counted(summary.nodes as u64, "node"),
        counted(summary.width as u64, "column")
    );
    for (name, report) in &summary.splits {
        text += &format!("  {name}: C = {}, test {}", short(report.c), of(&report.test));
        if let Some(figures) = &report.validation {
            text += &format!(", validation {}", of(figures));
        }
        text += &format!(", macro-F1 {:.4}", report.test.macro_f1);
        if let Some(auc) = report.test.auc {
            text += &format!(", AUC {auc:.4}");
        }
        text += "\n";
    }
    for remark in remarks(summary, settings, chosen) {
        text += &format!("  {remark}\n");
    }
    text + &without_a_probe(summary)
}

/// What makes figures doubtful: fits that were given up, and C at an end of what was tried.
fn remarks(summary: &Summary, settings: &ProbeSettings, chosen: bool) -> Vec<String> {
    let reports = || summary.splits.iter().map(|(_, report)| report);
    let fits = || reports().flat_map(|report| &report.tried);
    let given_up = fits().filter(|tried| !tried.converged).count();
    let flags = [(settings.normalise, "--normalise"), (settings.standardise, "--standardise")];
    let left: Vec<&str> = flags.iter().filter(|(given, _)| !given).map(|(_, flag)| *flag).collect();
    let remedy = match left.is_empty() {
        true => String::new(),
        false => format!("; see what {} gives", left.join(" or ")),
    };
    let mut remarks = Vec::new();
    if given_up > 0 {
        let (all, steps) = (fits().count(), settings.steps);
        remarks.push(format!(
            "{given_up} of {all} fits were given up after {steps} steps or for want of digits{remedy}"
        ));
    }
    let values = || settings.grid.iter().chain(&settings.further).copied();
    let (least, most) = (values().fold(f64::MAX, f64::min), values().fold(0.0, f64::max));
    for (end, which) in [(least, "smallest"), (most, "largest")] {
        // Where nothing is wrong any C will do.
        let doubtful = reports().any(|report| report.c == end && report.test.accuracy < 1.0);
        if !chosen && doubtful {
            remarks.push(format!(
                "C = {} is the {which} that is tried: these embeddings may be too short or too long \
                 for that, or say nothing{remedy}",
                short(end)
            ));
        }
    }
    remarks
}

/// Nearest nodes and groups.
fn without_a_probe(summary: &Summary) -> String {
    let of_some = |nodes: usize| match nodes < summary.nodes {
        true => format!(" (of {} nodes)", thousands(nodes as u64)),
        false => String::new(),
    };
    let mut text = String::new();
    if let (Some(near), Some((name, report))) = (&summary.neighbours, summary.splits.first()) {
        let some = match near.test_nodes < report.test.nodes {
            true => format!(" of {} nodes", thousands(near.test_nodes as u64)),
            false => String::new(),
        };
        text += &format!(
            "the {} nearest training nodes vote: test {}{some}, macro-F1 {:.4} (split {name})\n",
            near.k,
            tenths(near.test_accuracy),
            near.test_macro_f1
        );
    }
    let Some(nodes) = summary.sim_nodes else {
        return text + "nearest nodes and k-means want nodes of one class each, and are left out\n";
    };
    text += &match &summary.groups {
        Some(groups) => {
            let some = of_some(groups.nodes);
            format!("k-means: NMI {:.4}, ARI {:.4}{some}\n", groups.nmi, groups.ari)
        }
        None => "k-means is left out: there are too many classes\n".into(),
    };
    let sims = [(summary.sim_at_5, 5), (summary.sim_at_10, 10)].into_iter();
    let sims: Vec<String> =
        sims.filter_map(|(sim, k)| Some(format!("{} of {k}", tenths(sim?)))).collect();
    text += &match sims.is_empty() {
        true => "nearest nodes are left out: too few nodes have a label\n".into(),
        false => {
            format!("nearest nodes of the same class: {}{}\n", sims.join(", "), of_some(nodes))
        }
    };
    text
}

/// A share in percent.
fn tenths(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}
