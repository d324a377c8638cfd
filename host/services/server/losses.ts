/** Losses as clients see them: listed until somebody acknowledges them, over restarts of the server. */
import { reasonOf } from '../../base/errors.js';
import type { Logger } from '../../base/log/log.js';
import { type LossRepository, lossText, type NotedLoss } from '../../meta/journal/losses.js';
import type { Loss } from '../../model/losses.js';
import { serverErrors } from '../errors/server.js';

/** A noted loss, with the sentence that tells it. */
export interface LossItem extends NotedLoss {
  readonly text: string;
}

export class LossService {
  /** Losses that wait to be noted: many come at once when a disk was damaged. */
  #waiting: Loss[] = [];

  constructor(
    private readonly losses: LossRepository,
    private readonly log: Logger,
  ) {}

  /** Writes a loss to the log, and notes it in the store. */
  note(loss: Loss): void {
    this.log.error(lossText(loss));
    this.#waiting.push(loss);
    if (this.#waiting.length === 1) setImmediate(() => void this.#noteAll());
  }

  async #noteAll(): Promise<void> {
    const losses = this.#waiting.splice(0);
    try {
      await this.losses.add(losses);
    } catch (error) {
      this.log.error(`only the log tells of ${losses.length} losses: ${reasonOf(error)}`);
    }
  }

  list(): LossItem[] {
    return this.losses.list().map((loss) => ({ ...loss, text: lossText(loss) }));
  }

  get count(): number {
    return this.losses.count;
  }

  /** Losses of a resource, one sentence each. */
  textsOf(resource: string, name: string): string[] {
    if (this.count === 0) return [];
    return this.losses.list().flatMap((loss) => (isOf(loss, resource, name) ? [lossText(loss)] : []));
  }

  /** Names of resources that are lost as a whole; undefined when the names of some can't be told. */
  namesOf(resource: string): string[] | undefined {
    const lost = this.count === 0 ? [] : this.losses.list().filter(({ what }) => what === 'definition');
    if (lost.some(({ name }) => name === '')) return undefined;
    return lost.flatMap((loss) => (loss.resource === resource ? [loss.name] : []));
  }

  async acknowledge(id: string): Promise<string> {
    if (!this.losses.has(id)) throw serverErrors.lossMissing(id);
    await this.losses.remove(id);
    return `Loss ${id} is acknowledged.`;
  }
}

function isOf(loss: Loss, resource: string, name: string): boolean {
  return loss.resource === resource && loss.name === name;
}
