/** The order in which the sources of a rule begin. */
import { connectorFor } from '../../../connectors/loaded.js';
import type { RunningRule, RunningSource } from '../running/running.js';
import type { StartOrder } from './start-order.js';

/** Longest time that the streams of a rule wait for its tables to be read, ms. */
const maxLoadMs = 5000;

/** Checkpoints of the rule, as far as its start asks for them. */
interface RuleCheckpoints {
  /** The rule goes on where it was, and so do others that share its streams. */
  readonly isRestored: boolean;
  /** A checkpoint has to be taken before the first row. */
  readonly needsFirst: boolean;
  first(rule: RunningRule): Promise<void>;
}

/**
 * Starts tables that are read from files before the streams, whose first rows are to find them complete; to be called
 * in the turn in which the rule was linked. What comes once, or from the places of all, comes when all rules are there
 * that start and share the stream: it would be gone for the others.
 */
export function startSources(
  rule: RunningRule,
  fresh: readonly RunningSource[],
  checkpoints: RuleCheckpoints | undefined,
  starting: StartOrder,
): void {
  const tables = fresh.filter((source) => rule.isTable(source));
  const loading = tables.filter(({ endsSoon }) => endsSoon);
  let haveRead = () => {};
  if (loading.length > 0) {
    const read = new Promise<void>((resolve) => {
      haveRead = resolve;
    });
    for (const source of rule.sources) if (!rule.isTable(source)) source.awaitTables(rule, read);
  }
  const begin = async () => {
    for (const table of tables) table.start();
    if (loading.length > 0) {
      const patience = new Promise<void>((resolve) => void setTimeout(resolve, maxLoadMs).unref());
      await Promise.race([Promise.all(loading.map((table) => table.whenOver())), patience]);
      haveRead();
    }
    startStreams(rule, fresh, checkpoints?.isRestored === true, starting);
  };
  if (checkpoints?.needsFirst === true) void checkpoints.first(rule).then(begin);
  else void begin();
}

function startStreams(
  rule: RunningRule,
  fresh: readonly RunningSource[],
  isRestored: boolean,
  starting: StartOrder,
): void {
  for (const source of rule.sources) {
    if (source.hasStarted) {
      source.places?.joined(rule);
      continue;
    }
    const { isShared } = source.spec;
    const isLate = isRestored && isShared && source.spec.handed === undefined;
    if (!isLate && (!fresh.includes(source) || rule.isTable(source))) continue;
    const start = () => (isLate ? source.startWithOthers() : source.start());
    const handed = [...(source.handed?.values() ?? [])].map((one) => one.whenRead());
    if (isShared && (handed.length > 0 || source.acknowledgements !== undefined || rewinds(source)))
      void Promise.all([starting.sharersOf(source.name), ...handed]).then(start);
    else start();
  }
}

/** Rules with checkpoints have it begin at their places, even where one without is here first. */
function rewinds({ spec }: RunningSource): boolean {
  return spec.handed === undefined && connectorFor('source', spec.type).source?.rewinds(spec.props) === 'position';
}
