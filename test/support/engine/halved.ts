/** An engine whose rules are divided evenly over its data planes, whatever they take. */
import { Division } from '../../../host/run/planes/placement/division.js';
import { temporaryFolder } from '../harness.js';
import { openEngine, type TestEngine } from './engine-harness.js';

const lookMs = 200;
const neverMs = 3_600_000;

/** Takes each rule for the same load. */
class Halved extends Division {
  isSettled = false;

  constructor(
    count: number,
    private readonly load: number,
  ) {
    super(count, count === 1 ? neverMs : lookMs);
  }

  override setLoad(id: string): void {
    super.setLoad(id, this.load);
  }

  override betterMove(...args: Parameters<Division['betterMove']>): ReturnType<Division['betterMove']> {
    return this.isSettled ? undefined : super.betterMove(...args);
  }
}

/**
 * Rules move at the first looks until `settle` is called.
 *
 * @param load of each rule, as a part of a processor
 */
export function openHalved(count: number, load: number): TestEngine & { settle(): void } {
  const division = new Halved(count, load);
  const opened = openEngine({ division, folders: { data: temporaryFolder() } });
  return {
    ...opened,
    settle: () => {
      division.isSettled = true;
    },
  };
}
