/** The last rows at which a rule failed, as people may see them; they are decoded here, when somebody asks. */
import type { NodeHandle, StreamHandle } from '../../../../kernels/api.js';
import { failuresOf, type NodeFailure } from '../../../../kernels/state/failures.js';
import { maskByName } from '../../../base/fields/secret-fields.js';
import { writeExactJson } from '../../../base/text/exact-json.js';
import type { FailedRow } from '../../../model/figures.js';
import { maskMembers } from '../observe/error-log.js';
import { shownRow } from '../output/letters/rows-json.js';
import { placeOf } from '../running/rule-groups.js';
import type { RunningRule } from '../running/running.js';

/** Most rows of a rule that are shown. */
const mostShown = 20;

/** The last failures of the operators of a rule since a time (epoch ms), the newest first; none while it is away. */
export function failedRowsOf(
  rule: RunningRule | undefined,
  since: number,
  work: { readonly isBroken: boolean },
): FailedRow[] {
  if (rule === undefined || rule.isEnding || work.isBroken) return [];
  const { kernel } = rule.host;
  const found: (NodeFailure & { readonly operator: string })[] = [];
  const seen = new Set<NodeHandle | StreamHandle>();
  for (const { name, nodes, source } of rule.operators) {
    const read = source === undefined ? undefined : rule.sources[source];
    const places = read === undefined ? [] : [placeOf(rule, read).stream];
    for (const handle of [...places, ...nodes.flatMap((i) => rule.nodes[i]?.handle ?? [])]) {
      if (seen.has(handle)) continue;
      seen.add(handle);
      for (const one of failuresOf(kernel, handle)) found.push({ operator: name, ...one });
    }
  }
  const { redact } = rule;
  return found
    .filter(({ at }) => at >= since)
    .sort((one, other) => other.at - one.at)
    .slice(0, mostShown)
    .map(({ operator, at, reason, row }) => ({
      operator,
      at,
      reason: redact(reason),
      ...(row !== undefined && { row: redact(writeExactJson(masked(shownRow(row)))) }),
    }));
}

/** A row without secrets; what could not be decoded is a text in its member `message`. */
function masked(row: unknown): unknown {
  const { message, ...others } = row as { readonly message?: unknown };
  if (typeof message !== 'string' || Object.keys(others).length > 0) return maskByName(row);
  try {
    return { message: JSON.stringify(maskByName(JSON.parse(message))) };
  } catch {
    return { message: maskMembers(message) };
  }
}
