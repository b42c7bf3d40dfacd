//! Which jobs come before which.

use anyhow::{Result, bail};
use drope_core::results::Shard;

use super::job::PlannedJob;

/// Indices of all jobs, in an order in which each job follows the jobs of its `after`.
///
/// # Errors
/// If jobs wait for each other in a circle.
pub fn order(jobs: &[PlannedJob]) -> Result<Vec<usize>> {
    let mut order = Vec::new();
    let mut is_placed = vec![false; jobs.len()];
    while order.len() < jobs.len() {
        let placed = order.len();
        for (index, job) in jobs.iter().enumerate() {
            if !is_placed[index] && job.after.iter().all(|&before| is_placed[before]) {
                is_placed[index] = true;
                order.push(index);
            }
        }
        if order.len() == placed {
            let waiting = jobs.iter().zip(&is_placed).filter(|(_, is_placed)| !**is_placed).map(|(job, _)| &*job.name);
            bail!("these jobs wait for each other in a circle: {}", waiting.collect::<Vec<_>>().join(", "));
        }
    }
    Ok(order)
}

/// Indices of a shard's jobs, in the order of the file. Jobs that are connected by `after` are in one shard, so that no
/// machine needs what another makes; the groups of connected jobs are dealt out in the order of their first jobs.
pub fn shard(jobs: &[PlannedJob], shard: Shard) -> Vec<usize> {
    // A group has the index of its first job.
    let mut group: Vec<usize> = (0..jobs.len()).collect();
    for (index, job) in jobs.iter().enumerate() {
        for &before in &job.after {
            let (old, new) = (group[index].max(group[before]), group[index].min(group[before]));
            group.iter_mut().filter(|group| **group == old).for_each(|group| *group = new);
        }
    }
    let first_jobs: Vec<usize> = (0..jobs.len()).filter(|&index| group[index] == index).collect();
    let mine: Vec<usize> = shard.trials(first_jobs.len()).map(|index| first_jobs[index]).collect();
    (0..jobs.len()).filter(|&index| mine.contains(&group[index])).collect()
}
