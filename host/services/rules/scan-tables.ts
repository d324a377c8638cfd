/** Rows in the scan tables of running rules. */
import { inContext } from '../../base/errors.js';
import type { RuleJson } from '../../meta/definitions/rule-definition.js';
import type { Catalog, Engine } from '../../model/engine.js';
import { parseQuery } from '../../sql/parser.js';
import { streamsIn } from '../../sql/visit.js';
import { ruleErrors } from '../errors/rules.js';

export interface ScanTableOptions {
  readonly engine: Pick<Engine, 'state' | 'scanTables'>;
  readonly catalog: Pick<Catalog, 'source'>;
  /** Returns a stored rule; undefined for an unknown id. */
  readonly rule: (id: string) => RuleJson | undefined;
}

export class ScanTableService {
  readonly #options: ScanTableOptions;

  constructor(options: ScanTableOptions) {
    this.#options = options;
  }

  /** Current rows in the scan tables of a running rule, as JSON text. */
  rows(id: string): Promise<string> {
    return inContext('get scan tables error', async () => {
      const rule = this.#running(id);
      if (!this.#hasScanTable(rule)) throw ruleErrors.noScanTable(id);
      const rows = await this.#options.engine.scanTables(id);
      if (rows.length === 0) {
        throw ruleErrors.emptyScanTables(id);
      }
      const items = rows.map(({ emitter, content }) => `{"emitter":${JSON.stringify(emitter)},"content":${content}}`);
      return `[${items.join(',')}]`;
    });
  }

  #running(id: string): RuleJson {
    const rule = this.#options.rule(id);
    if (rule === undefined) throw ruleErrors.missing(id, '');
    const state = this.#options.engine.state(id);
    if (state !== 'running' && state !== 'starting') throw ruleErrors.notWorking(id);
    return rule;
  }

  #hasScanTable({ sql }: RuleJson): boolean {
    if (!sql) return false;
    return streamsIn(parseQuery(sql)).some(
      ({ name }) => this.#options.catalog.source(name)?.options.tableKind === 'scan',
    );
  }
}
