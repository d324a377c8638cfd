/**
 * Rows of rules that are about to come from another data plane: they are read while the rules still run there, so that
 * what came since then is all that has to be read in between.
 */
import type { Kernel } from '../../../../../kernels/api.js';
import { reasonOf } from '../../../../base/errors.js';
import { systemClock, type Timer } from '../../../../base/time/clock.js';
import type { RowsAhead } from '../../../link/moving.js';
import type { PlaneHost, RunningRule } from '../../running/running.js';
import { CheckpointFiles } from './files.js';
import { type RowsThere, readRows } from './loaded-snapshots.js';

/** Time after which a rule does not come any more, ms. */
const keptMs = 60_000;
/** Rules whose work it is to free memory: none. */
const nobody: ReadonlySet<RunningRule> = new Set();

interface Reading {
  /** Undefined until all is read. */
  there: RowsThere | undefined;
  timer: Timer | undefined;
  /** Nobody will take the rows. */
  isOver: boolean;
}

export class ReadAhead {
  readonly #byFolder = new Map<string, Reading>();

  constructor(private readonly host: PlaneHost) {}

  /** Of the data plane. */
  static of(host: PlaneHost): ReadAhead {
    return host.shared('checkpoint.ahead', () => new ReadAhead(host));
  }

  /** Reads the rows. Where that fails they are read when the rule comes, which tells why. */
  async read({ folder, rows }: RowsAhead): Promise<void> {
    const { host } = this;
    this.drop(folder);
    const reading: Reading = { there: undefined, timer: undefined, isOver: false };
    this.#byFolder.set(folder, reading);
    const work = (call: (kernel: Kernel) => void) => host.work(nobody, () => call(host.kernel));
    try {
      const files = new CheckpointFiles(folder);
      const loadedSnapshot = await readRows(files, rows, work, undefined, () => !reading.isOver);
      if (reading.isOver) {
        work(() => loadedSnapshot.close());
        return;
      }
      reading.there = { rows, loadedSnapshot };
      reading.timer = systemClock.after(keptMs, () => this.drop(folder));
    } catch (error) {
      if (reading.isOver) return;
      this.#byFolder.delete(folder);
      host.log.warn(`the rows in ${folder} can't be read ahead: ${reasonOf(error)}`);
    }
  }

  /** Gives the rows of a folder away; undefined when they are not all read. */
  take(folder: string): RowsThere | undefined {
    const reading = this.#byFolder.get(folder);
    if (reading === undefined) return undefined;
    this.#byFolder.delete(folder);
    reading.isOver = true;
    reading.timer?.close();
    return reading.there;
  }

  /** Calls with what takes the rows of a folder; frees them when they were not taken. */
  async useOf<T>(folder: string, call: (take: () => RowsThere | undefined) => Promise<T>): Promise<T> {
    try {
      return await call(() => this.take(folder));
    } finally {
      this.drop(folder);
    }
  }

  /** Frees what is left of a folder. */
  drop(folder: string): void {
    const there = this.take(folder);
    if (there !== undefined) this.host.work(nobody, () => there.loadedSnapshot.close());
  }
}
