/** Asks at each interval. While the sinks are full nothing is asked. */
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { HaumeaError, reasonOf } from '../../base/errors.js';
import { systemClock, type Timer } from '../../base/time/clock.js';
import { Unreachable } from '../../http/client.js';
import { rowsIn } from '../../http/rows.js';
import type { Values } from '../../http/text-template.js';
import { FrameBuffer } from '../messages/frames.js';
import type { Source, SourceContext } from '../running.js';
import { pullErrors } from './errors.js';
import { firstPage, nextPage, type Page, type PagingConf } from './paging.js';
import { BadAnswer, type PullConf, Puller } from './puller.js';

export interface PullSourceConf extends PullConf, PagingConf {
  /** ms */
  interval: number;
  incremental: boolean;
  states: Record<string, unknown>;
  /** Pages asked for at an interval. */
  maxPages: number;
}

interface Position {
  readonly states: Values;
  /** The page that comes next; left out for the first. */
  readonly page?: Page;
}

export class PullSource implements Source {
  readonly position?: () => Position;
  readonly seek?: (position: unknown) => void;
  readonly #puller: Puller;
  readonly #frames = new FrameBuffer();
  #states: Values;
  /** Page that is asked for next, and its number. */
  #page: Page;
  #pageNumber = 0;
  /** Hashes of the last answers, by the number of the page. */
  readonly #lastAnswers: string[] = [];
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(
    public conf: PullSourceConf,
    readonly context: SourceContext,
  ) {
    this.#puller = new Puller(conf, context.dataSource, context);
    this.#states = conf.states as Values;
    this.#page = firstPage(conf);
    if (Object.keys(conf.states).length === 0) return;
    this.position = () => ({ states: this.#states, ...(this.#pageNumber > 0 && { page: this.#page }) });
    this.seek = (position) => {
      const { states, page } = position as Position;
      this.#states = { ...this.#states, ...states };
      if (page === undefined) return;
      this.#page = page;
      this.#pageNumber = 1;
    };
  }

  async open(): Promise<void> {
    try {
      await this.#pull();
    } catch (error) {
      if (error instanceof HaumeaError) throw error;
      throw pullErrors.away(reasonOf(error), { cause: error });
    }
  }

  renew(conf: PullSourceConf): void {
    this.conf = conf;
    this.#puller.renew(conf);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer?.close();
    this.#puller.close();
  }

  /** Asks once and says when to ask again; throws `Unreachable`, and what is wrong with certificates. */
  async #pull(): Promise<void> {
    let pauseMs = this.conf.interval;
    try {
      if (!this.context.isFull && (await this.#pullPage())) pauseMs = 0;
    } catch (error) {
      if (this.#isClosed) return;
      this.context.sendError(reasonOf(error));
      if (error instanceof Unreachable || error instanceof HaumeaError) throw error;
      this.#turnTo(undefined);
      if (error instanceof BadAnswer) pauseMs = Math.max(pauseMs, error.afterMs);
      this.context.exception(reasonOf(error));
    }
    if (!this.#isClosed) this.#timer = systemClock.after(pauseMs, () => void this.#again());
  }

  /** Asks for one page; returns whether another follows. */
  async #pullPage(): Promise<boolean> {
    const { conf } = this;
    const answer = await this.#puller.pull(this.#states, this.#page);
    if (this.#isClosed) return false;
    const asked = this.#page;
    const number = this.#pageNumber;
    // The position behind the rows is that of the page after them.
    let reason: unknown;
    try {
      this.#turnTo(nextPage(conf, answer));
      if (isDeepStrictEqual(asked, this.#page) && this.#pageNumber > 0) throw new Error('the next page is the same');
      if (this.#pageNumber === conf.maxPages) throw new Error(`there are more than maxPages, ${conf.maxPages}, pages`);
    } catch (error) {
      this.#turnTo(undefined);
      reason = error;
    }
    this.#take(answer.body, number);
    if (reason !== undefined) this.context.exception(reasonOf(reason));
    return this.#pageNumber > 0;
  }

  /** Without a page the first one comes next. */
  #turnTo(page: Page | undefined): void {
    this.#page = page ?? firstPage(this.conf);
    this.#pageNumber = page === undefined ? 0 : this.#pageNumber + 1;
  }

  async #again(): Promise<void> {
    if (this.context.isFull) await this.context.ready();
    if (this.#isClosed) return;
    await this.#pull().catch((error: unknown) => {
      this.context.disconnected(reasonOf(error));
    });
  }

  #take(answer: Buffer, page: number): void {
    if (answer.length === 0) return;
    if (this.conf.incremental) {
      const hash = createHash('sha256').update(answer).digest('base64');
      if (hash === this.#lastAnswers[page]) return;
      this.#lastAnswers[page] = hash;
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
