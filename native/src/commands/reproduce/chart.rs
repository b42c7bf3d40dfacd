//! Series charts as SVG.

use anyhow::{Result, anyhow};
use plotters::coord::ranged1d::{AsRangedCoord, ValueFormatter};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

/// A named line.
pub struct Series {
    pub name: String,
    pub points: Vec<(f64, f64)>,
}

/// What stands at the axes.
pub struct Axes<'a> {
    pub x: &'a str,
    pub y: &'a str,
    /// Both are logarithms of what is meant: ticks are labelled with powers.
    pub is_log: [bool; 2],
}

const SIZE: (u32, u32) = (720, 400);

/// Draws the lines.
pub fn lines(axes: &Axes, lines: &[Series]) -> Result<String> {
    let mut svg = String::new();
    draw(&mut svg, axes, lines).map_err(|error| anyhow!("cannot draw: {error}"))?;
    Ok(svg)
}

type Drawn = std::result::Result<(), Box<dyn std::error::Error>>;

fn draw(svg: &mut String, axes: &Axes, lines: &[Series]) -> Drawn {
    let root = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    root.fill(&WHITE)?;
    let scale = |(x, y): (f64, f64)| (scaled(x, axes.is_log[0]), scaled(y, axes.is_log[1]));
    let points = || lines.iter().flat_map(|line| &line.points).map(|&point| scale(point));
    // What is not a logarithm begins at 0, so that small differences look small.
    let zero = (!axes.is_log[1]).then_some(0.0);
    let (x, y) = (range(points().map(|p| p.0)), range(points().map(|p| p.1).chain(zero)));
    let mut chart = ChartBuilder::on(&root)
        .margin(12)
        .x_label_area_size(42)
        .y_label_area_size(62)
        .build_cartesian_2d::<RangedCoordf64, RangedCoordf64>(x.into(), y.into())?;
    let label = |log: bool| move |value: &f64| if log { number(value.exp2()) } else { number(*value) };
    mesh(&mut chart, axes, &label(axes.is_log[0]), &label(axes.is_log[1]))?;
    for (index, line) in lines.iter().enumerate() {
        let style = Palette99::pick(index).stroke_width(2);
        let drawn = line.points.iter().map(|&point| scale(point));
        chart
            .draw_series(LineSeries::new(drawn, style))?
            .label(&line.name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 18, y)], style));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE.mix(0.85))
        .border_style(BLACK.mix(0.2))
        .position(SeriesLabelPosition::UpperRight)
        .draw()?;
    root.present()?;
    Ok(())
}

fn mesh<X, Y>(
    chart: &mut ChartContext<SVGBackend, Cartesian2d<X, Y>>,
    axes: &Axes,
    x_label: &dyn Fn(&f64) -> String,
    y_label: &dyn Fn(&f64) -> String,
) -> Drawn
where
    X: Ranged<ValueType = f64> + ValueFormatter<f64> + AsRangedCoord,
    Y: Ranged<ValueType = f64> + ValueFormatter<f64> + AsRangedCoord,
{
    chart
        .configure_mesh()
        .max_light_lines(0)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc(axes.x)
        .y_desc(axes.y)
        .x_label_formatter(x_label)
        .y_label_formatter(y_label)
        .draw()?;
    Ok(())
}

fn scaled(value: f64, is_log: bool) -> f64 {
    if is_log { value.max(f64::MIN_POSITIVE).log2() } else { value }
}

/// From the lowest to the highest, with some room above; any range where there is nothing to draw.
fn range(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let values = values.filter(|value| value.is_finite());
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| (low.min(v), high.max(v)));
    if low < high {
        low..high + 0.04 * (high - low)
    } else if low == high {
        low - 1.0..low + 1.0
    } else {
        0.0..1.0
    }
}

/// A number in as few digits as it needs.
fn number(value: f64) -> String {
    if value == 0.0 || (0.001..10_000.0).contains(&value.abs()) {
        let text = format!("{value:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{value:.1e}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Axes, Series, lines};

    #[test]
    fn charts_of_no_point_and_of_one_are_drawn() {
        let axes = Axes { x: "x", y: "y", is_log: [false, true] };
        for points in [vec![], vec![(1.0, 2.0)], vec![(1.0, f64::NAN)]] {
            let svg = lines(&axes, &[Series { name: "a".into(), points }]).unwrap();
            assert!(svg.starts_with("<svg"), "{svg}");
        }
    }
}
