//! Runs jobs, several at once, until all are done or nothing more can be.

use std::collections::HashSet;
use std::time::Duration;

use anyhow::{Result, bail};

use super::child::RunningChild;
use super::graph;
use super::job::PlannedJob;
use super::progress::StudyProgress;
use super::record::{Records, State};
use crate::{files, interrupt};

/// Between two looks at the running jobs.
const PAUSE: Duration = Duration::from_millis(100);

/// A job in this run of the study.
enum Phase {
    Waiting,
    Running {
        child: RunningChild,
        seconds_before: f64,
    },
    Done,
    /// The job failed or was stopped by Ctrl-C: it is not done when this run of the study ends.
    Failed,
}

struct Queue<'a> {
    jobs: &'a [PlannedJob],
    /// The phase of each job; jobs of other shards stay `Waiting`.
    phases: Vec<Phase>,
    records: &'a Records,
    progress: StudyProgress,
}

/// Runs the jobs `mine`, `threads` at once.
pub fn run(jobs: &[PlannedJob], mine: &[usize], records: &Records, threads: usize) -> Result<()> {
    interrupt::watch();
    let mut queue = Queue {
        jobs,
        phases: jobs.iter().map(|_| Phase::Waiting).collect(),
        records,
        progress: StudyProgress::new(mine.len(), mine.iter().map(|&index| jobs[index].cost).sum(), threads)?,
    };
    let mut done = Vec::new();
    for &index in mine {
        if let State::Done { seconds } = records.state(&jobs[index].name, &jobs[index].key)? {
            queue.phases[index] = Phase::Done;
            done.push((index, seconds));
        }
    }
    let order = queue.requeue_jobs_without_output(mine)?;
    for (index, seconds) in done.into_iter().filter(|(index, _)| matches!(queue.phases[*index], Phase::Done)) {
        queue.progress.was_done(jobs[index].cost, seconds);
    }
    let outcome = queue.work(&order, threads);
    queue.progress.finish();
    // After an error of the study itself, such as a full disk, the running jobs are asked to stop.
    outcome.inspect_err(|_| queue.interrupt())?;
    queue.report(mine)
}

impl Queue<'_> {
    /// Sets finished jobs back to waiting if what they made is missing and an unfinished job reads it. Returns the order of all jobs, in
    /// which these come right before the first job that reads it: what was measured already needs them no more.
    fn requeue_jobs_without_output(&mut self, mine: &[usize]) -> Result<Vec<usize>> {
        let mut again = HashSet::new();
        for index in graph::order(self.jobs)?.into_iter().rev().filter(|index| mine.contains(index)) {
            if matches!(self.phases[index], Phase::Done) {
                continue;
            }
            for &before in &self.jobs[index].after {
                if matches!(self.phases[before], Phase::Done) && self.jobs[before].command.lacks_its_output() {
                    self.phases[before] = Phase::Waiting;
                    again.insert(before);
                }
            }
        }
        let (mut order, mut unplaced) = (Vec::new(), again.clone());
        for &index in mine.iter().filter(|index| !again.contains(index)) {
            self.put_behind_what_it_reads(index, &mut unplaced, &mut order);
        }
        Ok(order)
    }

    /// Appends a job behind those of `unplaced` that it waits for, which are then placed.
    fn put_behind_what_it_reads(&self, index: usize, unplaced: &mut HashSet<usize>, order: &mut Vec<usize>) {
        if !matches!(self.phases[index], Phase::Done) {
            for &before in &self.jobs[index].after {
                if unplaced.remove(&before) {
                    self.put_behind_what_it_reads(before, unplaced, order);
                }
            }
        }
        order.push(index);
    }

    fn work(&mut self, mine: &[usize], threads: usize) -> Result<()> {
        let mut is_told = false;
        loop {
            while !interrupt::requested() && self.running() < threads {
                let Some(&index) = mine.iter().find(|&&index| self.is_ready(index)) else { break };
                if let Err(error) = self.start(index) {
                    self.fail(index, &format!("{error:#}"));
                }
            }
            if interrupt::requested() && !is_told {
                is_told = true;
                self.interrupt();
            }
            if self.running() == 0 {
                return Ok(());
            }
            std::thread::sleep(PAUSE);
            for &index in mine {
                self.poll(index)?;
            }
            self.progress.tick();
        }
    }

    fn running(&self) -> usize {
        self.phases.iter().filter(|phase| matches!(phase, Phase::Running { .. })).count()
    }

    fn is_ready(&self, index: usize) -> bool {
        let is_done = |&before: &usize| matches!(self.phases[before], Phase::Done);
        matches!(self.phases[index], Phase::Waiting) && self.jobs[index].after.iter().all(is_done)
    }

    fn start(&mut self, index: usize) -> Result<()> {
        let PlannedJob { name, command, key, .. } = &self.jobs[index];
        let Some(claim) = self.records.claim(name)? else {
            bail!("another process is running it; wait until that has ended");
        };
        let mut seconds_before = 0.0;
        match self.records.state(name, key)? {
            State::Started { seconds } => {
                seconds_before = seconds;
                // The job made all of it, and the study was stopped before it recorded the job as done.
                if command.is_made()? {
                    return self.record_done(index, seconds);
                }
            }
            State::Changed => {
                let kept = command.output().map(|path| files::put_aside(path)).transpose()?.flatten();
                let kept = kept.map_or(String::new(), |kept| format!("; what it made before is in {}", kept.display()));
                self.progress.say(&format!("{name} has changed since it was run and is run again{kept}"));
            }
            State::Done { .. } if command.lacks_its_output() => {
                self.progress.say(&format!("{name} is run again, since what it made is not there"));
            }
            // Another study of the same folder has run it meanwhile.
            State::Done { seconds } => {
                self.set_done(index, seconds);
                return Ok(());
            }
            State::New => {
                if let Some(there) = command.output().filter(|_| command.is_made().unwrap_or(true)) {
                    bail!("{} is there, and not made by this study; move it, or change the job", there.display());
                }
            }
        }
        self.requeue_what_changes(index)?;
        self.records.write_started(name, key, &command.words.join(" "), seconds_before)?;
        let child = RunningChild::start(&command.arguments()?, &self.records.log(name), claim)?;
        self.progress.started(name);
        self.phases[index] = Phase::Running { child, seconds_before };
        Ok(())
    }

    /// A model that is made anew lacks what later jobs wrote into its config, so that these are run again.
    fn requeue_what_changes(&mut self, index: usize) -> Result<()> {
        let jobs = self.jobs;
        let PlannedJob { name, command, .. } = &jobs[index];
        for (other, job) in jobs.iter().enumerate() {
            let is_changed = command.output().is_some() && job.command.changed_model() == command.output();
            if !is_changed || !matches!(self.phases[other], Phase::Done | Phase::Waiting) {
                continue;
            }
            if matches!(self.phases[other], Phase::Done) {
                self.phases[other] = Phase::Waiting;
                self.progress.is_again(job.cost);
            }
            if self.records.forget(&job.name)? {
                self.progress.say(&format!("{} is run again behind {name}, whose model it changes", job.name));
            }
        }
        Ok(())
    }

    /// Whether a running job has ended, and how.
    fn poll(&mut self, index: usize) -> Result<()> {
        let PlannedJob { name, command, key, .. } = &self.jobs[index];
        let Phase::Running { child, seconds_before } = &mut self.phases[index] else { return Ok(()) };
        let Some(status) = child.ended()? else {
            if self.progress.is_due()
                && let Some(line) = child.last_line()
            {
                self.progress.set_last_line(name, line);
            }
            return Ok(());
        };
        let seconds = *seconds_before + child.seconds();
        let last_line = child.last_line().unwrap_or_else(|| status.to_string());
        if status.success() {
            return self.record_done(index, seconds);
        }
        self.records.write_started(name, key, &command.words.join(" "), seconds)?;
        if interrupt::requested() {
            self.progress.stopped(name);
            self.phases[index] = Phase::Failed;
            return Ok(());
        }
        self.fail(index, &last_line);
        Ok(())
    }

    fn record_done(&mut self, index: usize, seconds: f64) -> Result<()> {
        let PlannedJob { name, command, key, .. } = &self.jobs[index];
        self.records.write_done(name, key, &command.words.join(" "), seconds)?;
        self.set_done(index, seconds);
        Ok(())
    }

    fn set_done(&mut self, index: usize, seconds: f64) {
        let PlannedJob { name, cost, .. } = &self.jobs[index];
        self.progress.done(name, *cost, seconds);
        self.phases[index] = Phase::Done;
    }

    fn fail(&mut self, index: usize, reason: &str) {
        let name = &self.jobs[index].name;
        let log = self.records.log(name);
        self.progress.failed(name, &format!("{name} failed: {reason} (its log is {})", log.display()));
        self.phases[index] = Phase::Failed;
    }

    /// Asks all running jobs to save and stop.
    fn interrupt(&self) {
        for phase in &self.phases {
            if let Phase::Running { child, .. } = phase {
                child.interrupt();
            }
        }
    }

    /// The sentence at the end.
    fn report(&self, mine: &[usize]) -> Result<()> {
        let names = |is: fn(&Phase) -> bool| -> Vec<&str> {
            mine.iter().filter(|&&index| is(&self.phases[index])).map(|&index| &*self.jobs[index].name).collect()
        };
        let done = names(|phase| matches!(phase, Phase::Done)).len();
        if done < mine.len() {
            interrupt::check(&format!("stopped with {done} of {} jobs done; the same command goes on", mine.len()))?;
        }
        let failed = names(|phase| matches!(phase, Phase::Failed));
        if failed.is_empty() {
            println!("{done} of {} jobs are done", mine.len());
            return Ok(());
        }
        let waiting = names(|phase| matches!(phase, Phase::Waiting));
        let not_run = match &waiting[..] {
            [] => String::new(),
            names => format!(", so that these after it were not run: {}", names.join(", ")),
        };
        bail!(
            "{done} of {} jobs are done; failed: {}{not_run}; the same command tries again",
            mine.len(),
            failed.join(", ")
        )
    }
}
