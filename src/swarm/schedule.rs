//! Who acts when: lock-step rounds, or a virtual clock with speeds and churn.
//!
//! Time is counted in ticks. In lock-step every agent ends its part of a round at every tick, and a round is one tick. By
//! a virtual clock a round has several ticks: the fastest agents end their part once a round, slower ones more rarely, and
//! agents leave and come back. What an agent does at which tick follows from the seed alone, never from how long anything
//! takes: the same run has the same numbers anywhere.

use super::clock::VirtualClock;
use crate::seed::{Rng, Seed};

/// An agent's part of a round, at the tick at which it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    /// Whether it is the first since the agent came back.
    pub(super) returned: bool,
    /// How many it has had, this one included.
    pub(super) number: u64,
}

/// When each agent acts.
pub(super) struct Schedule {
    clock: VirtualClock,
    courses: Vec<Course>,
    tick: u64,
}

impl Schedule {
    pub(super) fn new(clock: VirtualClock, agents: usize, root: Seed) -> Self {
        let seed = |i: usize| root.child("schedule", i as u64);
        Self {
            courses: (0..agents).map(|i| Course::new(clock, seed(i))).collect(),
            clock,
            tick: 0,
        }
    }

    /// The tick that the schedule has come to; ticks are counted from 1.
    pub(super) fn tick(&self) -> u64 {
        self.tick
    }

    /// The next tick: the turn of each agent that ends one.
    pub(super) fn next(&mut self) -> Vec<Option<Turn>> {
        self.tick += 1;
        let (tick, clock) = (self.tick, self.clock);
        self.courses
            .iter_mut()
            .map(|course| course.at(tick, clock))
            .collect()
    }

    /// Goes on to the end of a round.
    pub(super) fn skip_to(&mut self, round: u32) {
        while self.tick < u64::from(round) * u64::from(self.clock.ticks) {
            self.next();
        }
    }

    /// How many turns an agent has had.
    pub(super) fn turns(&self, agent: usize) -> u64 {
        self.courses[agent].turns
    }
}

/// Where an agent is.
#[derive(Clone, Copy, Debug)]
enum State {
    Present {
        leaves: u64,
        /// When its part of a round ends, if it is still there.
        ends: u64,
        returned: bool,
    },
    Away {
        returns: u64,
    },
}

/// The comings and goings of an agent.
struct Course {
    rng: Rng,
    /// Ticks that it needs for its part of a round.
    duration: u64,
    state: State,
    turns: u64,
}

impl Course {
    fn new(clock: VirtualClock, seed: Seed) -> Self {
        let mut rng = seed.rng();
        let slower = clock.slowest.powf(rng.uniform());
        let duration = (f64::from(clock.ticks) * slower).round() as u64;
        let stays =
            clock.session <= 0.0 || rng.uniform() < clock.session / (clock.session + clock.away);
        let mut course = Self {
            rng,
            duration,
            state: State::Away { returns: 0 },
            turns: 0,
        };
        course.state = match stays {
            true => State::Present {
                leaves: course.session(clock, 0),
                ends: duration,
                returned: false,
            },
            false => State::Away {
                returns: course.length(clock.away, clock),
            },
        };
        course
    }

    /// The tick at which an agent leaves that is there from a tick on.
    fn session(&mut self, clock: VirtualClock, from: u64) -> u64 {
        match clock.session > 0.0 {
            true => from + self.length(clock.session, clock),
            false => u64::MAX,
        }
    }

    /// Ticks of so many rounds on average, exponentially distributed, at least one.
    fn length(&mut self, rounds: f64, clock: VirtualClock) -> u64 {
        let mean = rounds * f64::from(clock.ticks);
        let length = -mean * (1.0 - self.rng.uniform()).ln();
        length.ceil().max(1.0) as u64
    }

    fn at(&mut self, tick: u64, clock: VirtualClock) -> Option<Turn> {
        loop {
            match self.state {
                State::Away { returns } if returns > tick => return None,
                State::Away { returns } => {
                    self.state = State::Present {
                        leaves: self.session(clock, returns),
                        ends: returns + self.duration,
                        returned: true,
                    };
                }
                State::Present {
                    leaves,
                    ends,
                    returned,
                } if ends <= leaves => {
                    if ends > tick {
                        return None;
                    }
                    self.turns += 1;
                    self.state = State::Present {
                        leaves,
                        ends: ends + self.duration,
                        returned: false,
                    };
                    return Some(Turn {
                        returned,
                        number: self.turns,
                    });
                }
                State::Present { leaves, .. } if leaves > tick => return None,
                State::Present { leaves, .. } => {
                    self.state = State::Away {
                        returns: leaves + self.length(clock.away, clock),
                    };
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOCK: VirtualClock = VirtualClock {
        ticks: 4,
        slowest: 3.0,
        ..VirtualClock::LOCK_STEP
    };

    /// The ticks at which each of some agents has a turn, and whether it has just come back.
    fn turns(clock: VirtualClock, agents: usize, rounds: u32) -> Vec<Vec<(u64, bool)>> {
        let mut schedule = Schedule::new(clock, agents, Seed::new(3));
        let mut all = vec![Vec::new(); agents];
        for tick in 1..=u64::from(rounds * clock.ticks) {
            for (agent, turn) in schedule.next().into_iter().enumerate() {
                if let Some(turn) = turn {
                    all[agent].push((tick, turn.returned));
                    assert_eq!(turn.number, all[agent].len() as u64);
                    assert_eq!(schedule.turns(agent), turn.number);
                }
            }
        }
        all
    }

    #[test]
    fn in_lock_step_all_act_at_every_tick() {
        let all = turns(VirtualClock::LOCK_STEP, 3, 5);
        assert_eq!(
            all,
            vec![(1..=5).map(|t| (t, false)).collect::<Vec<_>>(); 3]
        );
    }

    #[test]
    fn slower_agents_act_more_rarely_and_none_more_than_once_a_round() {
        let all = turns(CLOCK, 40, 30);
        let (mut fast, mut slow) = (0, 0);
        for turns in &all {
            let gaps: Vec<u64> = turns.windows(2).map(|w| w[1].0 - w[0].0).collect();
            assert!(
                gaps.iter()
                    .all(|gap| *gap == gaps[0] && (4..=12).contains(gap))
            );
            assert_eq!(turns[0].0, gaps[0]);
            fast += usize::from(gaps[0] <= 6);
            slow += usize::from(gaps[0] >= 9);
        }
        assert!(fast > 5 && slow > 5, "{fast} {slow}");
    }

    #[test]
    fn agents_leave_and_come_back() {
        let clock = VirtualClock {
            session: 10.0,
            away: 5.0,
            ..CLOCK
        };
        let all = turns(clock, 60, 100);
        let returns: usize = all
            .iter()
            .flatten()
            .filter(|(_, returned)| *returned)
            .count();
        assert!((150..600).contains(&returns), "{returns}");
        let had: usize = all.iter().map(Vec::len).sum();
        let without: usize = turns(CLOCK, 60, 100).iter().map(Vec::len).sum();
        let share = had as f64 / without as f64;
        assert!(
            (0.45..0.7).contains(&share),
            "two thirds, less what is broken off: {share}"
        );
        // nobody acts within its part of a round after it has come back
        for turns in all {
            let gaps = turns.windows(2).map(|w| w[1].0 - w[0].0);
            assert!(gaps.min().is_none_or(|gap| gap >= 4));
        }
    }

    #[test]
    fn skipping_comes_to_the_same_place() {
        let clock = VirtualClock {
            session: 3.0,
            away: 2.0,
            ..CLOCK
        };
        let mut walked = Schedule::new(clock, 20, Seed::new(8));
        (0..40).for_each(|_| drop(walked.next()));
        let mut skipped = Schedule::new(clock, 20, Seed::new(8));
        skipped.skip_to(10);
        assert_eq!(skipped.tick(), 40);
        for _ in 0..40 {
            assert_eq!(walked.next(), skipped.next());
        }
    }
}
