/**
 * Rows of rules that are about to come from another data plane: they are read while the rules still run there, so that
 * what came since then is all that has to be read in between.
 */
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

export class ReadAhead {
  readonly #byFolder = new Map<string, { readonly there: RowsThere; readonly timer: Timer }>();

  constructor(private readonly host: PlaneHost) {}

  /** Of the data plane. */
  static of(host: PlaneHost): ReadAhead {
    return host.shared('checkpoint.ahead', () => new ReadAhead(host));
  }

  /** Reads the rows. Where that fails they are read when the rule comes, which tells why. */
  async read({ folder, rows }: RowsAhead): Promise<void> {
    const { host } = this;
    this.drop(folder);
    try {
      // Groups change with each row, so that those of now are of no use then.
      const pages = { ...rows, fresh: undefined };
      const files = new CheckpointFiles(folder);
      const loadedSnapshot = await readRows(files, pages, (call) => host.work(nobody, () => call(host.kernel)));
      this.drop(folder);
      const timer = systemClock.after(keptMs, () => this.drop(folder));
      this.#byFolder.set(folder, { there: { rows, loadedSnapshot }, timer });
    } catch (error) {
      host.log.warn(`the rows in ${folder} can't be read ahead: ${reasonOf(error)}`);
    }
  }

  /** Gives the rows of a folder away; undefined when none were read. */
  take(folder: string): RowsThere | undefined {
    const found = this.#byFolder.get(folder);
    this.#byFolder.delete(folder);
    found?.timer.close();
    return found?.there;
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
