/** The order in which the sources of a rule begin. */
import type { RunningRule, RunningSource } from './running.js';
import type { StartOrder } from './start-order.js';

/** How long the streams of a rule wait for its tables to be read, ms. */
const maxLoadMs = 5000;

/**
 * Starts tables that are read from files before the streams, whose first rows are to find them complete. With `isRestored` the rule
 * goes on where it was, and so do others that share its streams. Messages that are to be acknowledged come when all rules
 * are there that start and share the stream: what one of them has safe would be gone for the others.
 */
export function startSources(
  rule: RunningRule,
  fresh: readonly RunningSource[],
  isRestored: boolean,
  starting: StartOrder,
): void {
  const tables = fresh.filter((source) => rule.isTable(source));
  for (const table of tables) table.start();
  const startStreams = () => {
    for (const source of rule.sources) {
      const { isShared } = source.spec;
      const isLate = isRestored && isShared;
      if (!isLate && (!fresh.includes(source) || tables.includes(source))) continue;
      const start = () => (isLate ? source.startWithOthers() : source.start());
      if (isShared && source.acknowledgements !== undefined) void starting.sharersOf(source.name).then(start);
      else start();
    }
  };
  const loading = tables.filter(({ endsSoon }) => endsSoon).map((table) => table.whenOver());
  if (loading.length === 0) startStreams();
  else {
    const patience = new Promise<void>((resolve) => void setTimeout(resolve, maxLoadMs).unref());
    void Promise.race([Promise.all(loading), patience]).then(startStreams);
  }
}
