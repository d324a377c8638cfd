/** The last rows at which rules failed. */
import type { RuleJson } from '../../meta/definitions/rule-definition.js';
import type { Engine } from '../../model/engine.js';
import { ruleErrors } from '../errors/rules.js';

export interface FailedRowOptions {
  readonly engine: Pick<Engine, 'failedRows'>;
  /** Returns a stored rule; undefined for an unknown id. */
  readonly rule: (id: string) => RuleJson | undefined;
}

export class FailedRowService {
  constructor(private readonly options: FailedRowOptions) {}

  /** The last rows of a rule that failed since its start, the newest first, as JSON text; none while it is stopped. */
  async list(id: string): Promise<string> {
    const { engine, rule } = this.options;
    if (rule(id) === undefined) throw ruleErrors.missing(id, '');
    const rows = (await engine.failedRows?.(id)) ?? [];
    const items = rows.map(({ row, ...failure }) => {
      const text = JSON.stringify(failure);
      return row === undefined ? text : `${text.slice(0, -1)},"row":${row}}`;
    });
    return `[${items.join(',')}]`;
  }
}
