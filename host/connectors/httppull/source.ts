/** Asks at each interval. While the sinks are full nothing is asked. */
import { createHash } from 'node:crypto';
import { reasonOf } from '../../base/errors.js';
import { systemClock, type Timer } from '../../base/time/clock.js';
import { Unreachable } from '../../http/client.js';
import { rowsIn } from '../../http/rows.js';
import type { Values } from '../../http/text-template.js';
import { FrameBuffer } from '../frames.js';
import type { Source, SourceContext } from '../running.js';
import { pullErrors } from './errors.js';
import { BadAnswer, type PullConf, Puller } from './puller.js';

export interface PullSourceConf extends PullConf {
  /** ms */
  interval: number;
  incremental: boolean;
  states: Record<string, unknown>;
}

interface Position {
  readonly states: Values;
}

export class PullSource implements Source {
  readonly position?: () => Position;
  readonly seek?: (position: unknown) => void;
  readonly #puller: Puller;
  readonly #frames = new FrameBuffer();
  #states: Values;
  #lastAnswer = '';
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(
    readonly conf: PullSourceConf,
    readonly context: SourceContext,
  ) {
    this.#puller = new Puller(conf, context.dataSource, context);
    this.#states = conf.states as Values;
    if (Object.keys(conf.states).length === 0) return;
    this.position = () => ({ states: this.#states });
    this.seek = (position) => {
      this.#states = { ...this.#states, ...(position as Position).states };
    };
  }

  async open(): Promise<void> {
    try {
      await this.#pull();
    } catch (error) {
      throw pullErrors.away(reasonOf(error), { cause: error });
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.close();
    this.#puller.close();
  }

  /** Asks once and says when to ask again; throws `Unreachable`. */
  async #pull(): Promise<void> {
    let pauseMs = this.conf.interval;
    try {
      if (!this.context.isFull) this.#take(await this.#puller.pull(this.#states));
    } catch (error) {
      if (this.#isClosed) return;
      if (error instanceof Unreachable) throw error;
      if (error instanceof BadAnswer) pauseMs = Math.max(pauseMs, error.afterMs);
      this.context.exception(reasonOf(error));
    }
    if (!this.#isClosed) this.#timer = systemClock.after(pauseMs, () => void this.#again());
  }

  async #again(): Promise<void> {
    if (this.context.isFull) await this.context.ready();
    if (this.#isClosed) return;
    await this.#pull().catch((error: unknown) => {
      this.context.disconnected(reasonOf(error));
    });
  }

  #take(answer: Buffer): void {
    if (this.#isClosed || answer.length === 0) return;
    if (this.conf.incremental) {
      const hash = createHash('sha256').update(answer).digest('base64');
      if (hash === this.#lastAnswer) return;
      this.#lastAnswer = hash;
    }
    this.#frames.add(answer);
    this.context.write(this.#frames.bytes);
    this.#frames.clear();
    if (this.position !== undefined) this.#renewStates(answer);
  }

  /** Values of the members in the last row that has them. */
  #renewStates(answer: Buffer): void {
    const states = { ...this.#states };
    for (const row of rowsIn(answer)) {
      for (const name of Object.keys(states)) if (Object.hasOwn(row, name)) states[name] = row[name];
    }
    this.#states = states;
  }
}
