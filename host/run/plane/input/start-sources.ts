/** The order in which the sources of a rule begin. */
import { connectorFor } from '../../../connectors/loaded.js';
import type { RunningRule, RunningSource } from '../running/running.js';
import type { StartOrder } from './start-order.js';

/** Longest time that the streams of a rule wait for its tables to be read, ms. */
const maxLoadMs = 5000;

/**
 * Starts tables that are read from files before the streams, whose first rows are to find them complete. With
 * `isRestored` the rule goes on where it was, and so do others that share its streams. What comes once, or from the
 * places of all, comes when all rules are there that start and share the stream: it would be gone for the others.
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
      if (source.hasStarted) {
        source.places?.joined(rule);
        continue;
      }
      const { isShared } = source.spec;
      const isLate = isRestored && isShared && source.spec.handed === undefined;
      if (!isLate && (!fresh.includes(source) || tables.includes(source))) continue;
      const start = () => (isLate ? source.startWithOthers() : source.start());
      const handed = [...(source.handed?.values() ?? [])].map((one) => one.whenRead());
      if (isShared && (handed.length > 0 || source.acknowledgements !== undefined || rewinds(source)))
        void Promise.all([starting.sharersOf(source.name), ...handed]).then(start);
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

/** Rules with checkpoints have it begin at their places, even where one without is here first. */
function rewinds({ spec }: RunningSource): boolean {
  return spec.handed === undefined && connectorFor('source', spec.type).source?.rewinds(spec.props) === 'position';
}
