/** Time as a dependency, so that tests move it instead of sleeping. */

export interface Timer {
  close(): void;
}

export interface Clock {
  /** Epoch milliseconds. */
  now(): number;
  /** Calls once after `ms` milliseconds; the timer does not keep the process alive. */
  after(ms: number, call: () => void): Timer;
  /** Calls every `ms` milliseconds. */
  every(ms: number, call: () => void): Timer;
}

/** Longest delay that setTimeout takes; longer ones would fire at once. */
const maxDelayMs = 2 ** 31 - 1;

export const systemClock: Clock = {
  now: () => Date.now(),
  after: (ms, call) => {
    let timer: NodeJS.Timeout;
    const arm = (left: number) => {
      const part = Math.min(left, maxDelayMs);
      timer = setTimeout(() => (left > part ? arm(left - part) : call()), part).unref();
    };
    arm(ms);
    return { close: () => clearTimeout(timer) };
  },
  every: (ms, call) => {
    const timer = setInterval(call, Math.min(ms, maxDelayMs)).unref();
    return { close: () => clearInterval(timer) };
  },
};

/** Largest step back that is routine, ms: the time only stands still for as long. */
const smallStepMs = 1000;

/**
 * Epoch milliseconds that go back when their user is ready for that, and never else. When the system's clock is set
 * back by more than a second the time goes on from where it was until `follow` is called: what waits for a moment would
 * otherwise wait for as long as the clock was ahead.
 */
export class SteadyTime {
  #last = Number.NEGATIVE_INFINITY;
  /**
   * Time that went on when the clock was set back, and `elapsed` at that moment; undefined while the clock is followed.
   */
  #from: { readonly time: number; readonly elapsed: number } | undefined;

  /**
   * `setBack` is told that the clock was set back; it must not ask for the time. `elapsed` counts milliseconds from
   * anywhere.
   */
  constructor(
    private readonly setBack: () => void,
    private readonly clock: () => number = Date.now,
    private readonly elapsed: () => number = () => performance.now(),
  ) {}

  now(): number {
    const time = this.clock();
    if (time >= this.#last) {
      this.#from = undefined;
      this.#last = time;
    } else if (this.#from !== undefined) {
      this.#last = Math.floor(this.#from.time + this.elapsed() - this.#from.elapsed);
    } else if (this.#last - time > smallStepMs) {
      this.#from = { time: this.#last, elapsed: this.elapsed() };
      this.setBack();
    }
    return this.#last;
  }

  /** Follows the clock again; returns by how many milliseconds the time goes back. */
  follow(): number {
    const before = this.now();
    this.#from = undefined;
    this.#last = this.clock();
    return before - this.#last;
  }
}

/** A clock that stands still until it is moved. */
export class ManualClock implements Clock {
  #now: number;
  #timers: { at: number; period: number; call: () => void }[] = [];

  constructor(now = 0) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  after(ms: number, call: () => void): Timer {
    return this.#add({ at: this.#now + ms, period: 0, call });
  }

  every(ms: number, call: () => void): Timer {
    return this.#add({ at: this.#now + ms, period: Math.max(1, ms), call });
  }

  /** Moves on and calls what falls due, in order of time. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      this.#timers.sort((a, b) => a.at - b.at);
      const next = this.#timers[0];
      if (next === undefined || next.at > end) break;
      this.#now = Math.max(this.#now, next.at);
      if (next.period > 0) next.at += next.period;
      else this.#timers.shift();
      next.call();
    }
    this.#now = end;
  }

  #add(timer: { at: number; period: number; call: () => void }): Timer {
    this.#timers.push(timer);
    return {
      close: () => {
        this.#timers = this.#timers.filter((other) => other !== timer);
      },
    };
  }
}
