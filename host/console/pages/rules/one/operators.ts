/** The operators of a rule with their figures, as the flat list of a status has them. */
import type { Answer } from '../../../../sdk/client.js';

export interface Operator {
  readonly name: string;
  readonly kind: 'source' | 'sink' | 'op';
  /** Name without what tells kinds and numbers apart. */
  readonly label: string;
  readonly taken: number;
  readonly given: number;
  readonly waiting: number;
  readonly latencyUs: number;
  readonly errors: number;
  readonly lastError: string;
  /** When that was; 0: never. */
  readonly lastErrorAt: number;
  readonly isAway: boolean;
  /** Why its connection is gone. */
  readonly awayBecause: string;
}

/** An operator with its rows a second. */
export type RatedOperator = Operator & { readonly in: number; readonly out: number };

export interface GraphProps {
  /** The operators behind each one. */
  readonly edges: Readonly<Record<string, readonly string[]>>;
  readonly operators: readonly RatedOperator[];
}

type Status = Answer<'GET /rules/{id}/status'>;

const ending = '_records_in_total';

/** The operators in the order of the status: sources first, sinks last. */
export function operatorsOf(status: Status): readonly Operator[] {
  return Object.keys(status)
    .filter((key) => /^(source|op|sink)_.*_records_in_total$/.test(key))
    .map((key) => {
      const full = key.slice(0, -ending.length);
      const number = (name: string) => Number(status[`${full}_${name}`] ?? 0);
      const name = full.replace(/_\d+$/, '');
      return {
        name,
        kind: /^[a-z]+/.exec(name)![0] as Operator['kind'],
        label: labelOf(name),
        taken: number('records_in_total'),
        given: number('records_out_total'),
        waiting: number('buffer_length'),
        latencyUs: number('process_latency_us'),
        errors: number('exceptions_total'),
        lastError: String(status[`${full}_last_exception`] ?? ''),
        lastErrorAt: number('last_exception_time'),
        isAway: status[`${full}_connection_status`] === -1,
        awayBecause: String(status[`${full}_connection_last_disconnected_message`] ?? ''),
      };
    });
}

/** `op_2_window` is a window, `op_log_0_1_encode` encodes for the sink log. */
export function labelOf(name: string): string {
  const [, rest = name] = /^(?:source|op|sink)_(.*)$/.exec(name) ?? [];
  return rest
    .replace(/^\d+_/, '')
    .replace(/_\d+(?=_|$)/g, '')
    .replaceAll('_', ' ');
}
