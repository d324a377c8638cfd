/** A file that a rule writes rows to, and the ids of the rows in it. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '../harness.js';

export class Lines {
  readonly path = join(temporaryFolder(), 'rows.out');

  /** Ids of the whole lines. */
  ids(): readonly number[] {
    return this.values<{ id: number }>().map(({ id }) => id);
  }

  /** The whole lines. */
  values<T>(): T[] {
    if (!existsSync(this.path)) return [];
    const whole = readFileSync(this.path, 'utf8').split('\n').slice(0, -1);
    return whole.map((line) => JSON.parse(line) as T);
  }
}
