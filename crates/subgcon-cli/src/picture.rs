//! Small pictures as SVG, written by hand: a bar needs no library.

use std::fmt::Write;

/// From near to far, readable in grey as well.
const COLOURS: [&str; 9] = [
    "#08306b", "#2171b5", "#4292c6", "#6baed6", "#9ecae1", "#c6dbef", "#deebf7", "#f0f0f0",
    "#d9d9d9",
];

/// The composition of contexts by distance: one bar of the whole, a legend below.
pub(crate) fn composition_svg(name: &str, hops: &[f64], further: f64) -> String {
    let mut parts: Vec<(String, f64)> = hops
        .iter()
        .enumerate()
        .map(|(place, &share)| {
            let label = if place == 0 { "1 hop".into() } else { format!("{} hops", place + 1) };
            (label, share)
        })
        .collect();
    if further > 0.0 {
        parts.push(("further".into(), further));
    }
    const WIDTH: f64 = 640.0;
    let height = 110 + 20 * parts.len();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 700 {height}\" width=\"700\" \
         height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n\
         <text x=\"30\" y=\"30\" font-size=\"16\">Context members by distance from their centre: \
         {}</text>\n",
        escaped(name)
    );
    let mut left = 30.0;
    for (place, (label, share)) in parts.iter().enumerate() {
        let colour = COLOURS[place.min(COLOURS.len() - 1)];
        let width = share * WIDTH;
        let y = 110 + 20 * place;
        let _ = writeln!(
            svg,
            "<rect x=\"{left:.2}\" y=\"45\" width=\"{width:.2}\" height=\"36\" fill=\"{colour}\" \
             stroke=\"white\"/>\n\
             <rect x=\"30\" y=\"{}\" width=\"12\" height=\"12\" fill=\"{colour}\" stroke=\"#888\"/>\n\
             <text x=\"50\" y=\"{y}\">{label}: {:.1} %</text>",
            y - 11,
            share * 100.0
        );
        left += width;
    }
    svg + "</svg>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_picture_names_every_part_and_escapes_names() {
        let svg = composition_svg("a<b", &[0.5, 0.25], 0.25);
        for part in ["a&lt;b", "1 hop: 50.0 %", "2 hops: 25.0 %", "further: 25.0 %", "</svg>"] {
            assert!(svg.contains(part), "{part}\n{svg}");
        }
    }
}
