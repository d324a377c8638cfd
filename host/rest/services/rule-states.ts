/** What a running rule holds: contents of its scan tables, positions of its sources. */
import { HaumeaError } from '../../base/errors.js';
import type { RuleJson } from '../../meta/rule-definition.js';
import type { Catalog, Engine } from '../../run/api.js';
import { parseSelect } from '../../sql/parser.js';
import { inContext } from '../route.js';

export interface ScanTableRow {
  /** The table. */
  readonly emitter: string;
  readonly content: Record<string, unknown>;
}

export interface RuleStateOptions {
  readonly engine: Pick<Engine, 'state' | 'scanTables' | 'seek'>;
  readonly catalog: Pick<Catalog, 'source'>;
  /** Returns a stored rule, undefined for one that is not there. */
  readonly rule: (id: string) => RuleJson | undefined;
}

export class RuleStateService {
  readonly #options: RuleStateOptions;

  constructor(options: RuleStateOptions) {
    this.#options = options;
  }

  /** Rows that the scan tables of a running rule hold now. */
  scanTables(id: string): Promise<ScanTableRow[]> {
    return inContext('get scan tables error', async () => {
      const rule = this.#running(id);
      if (!this.#hasScanTable(rule)) throw new HaumeaError('general', `rule ${id} has no scan table`);
      const rows = await this.#options.engine.scanTables?.(id);
      if (rows === undefined || rows.length === 0) {
        throw new HaumeaError('general', `the scan tables of rule ${id} hold nothing`);
      }
      return rows;
    });
  }

  /** Moves a source of a running rule to another position, in the form the source itself gives it. */
  reset(id: string, body: Readonly<Record<string, unknown>>): Promise<string> {
    return inContext('reset state error', async () => {
      const { type, params } = body;
      if (type !== 1) throw new HaumeaError('general', `unknown stateType: ${JSON.stringify(type) ?? 'none'}`);
      this.#running(id);
      if (!isObject(params)) throw new HaumeaError('general', 'invalid body: params must be an object');
      const { streamName, input } = params;
      if (typeof streamName !== 'string' || streamName === '') {
        throw new HaumeaError('general', 'invalid body: params.streamName must be the name of a stream');
      }
      if (!isObject(input)) throw new HaumeaError('general', 'invalid body: params.input must be an object');
      const { seek } = this.#options.engine;
      if (seek === undefined) {
        throw new HaumeaError('general', `the source of stream ${streamName} has no position that can be set`);
      }
      await seek.call(this.#options.engine, id, streamName, input);
      return 'success';
    });
  }

  #running(id: string): RuleJson {
    const rule = this.#options.rule(id);
    if (rule === undefined) throw new HaumeaError('notFound', `rule ${id} is not found`);
    const state = this.#options.engine.state(id);
    if (state !== 'running' && state !== 'starting') throw new HaumeaError('general', `rule ${id} is not running`);
    return rule;
  }

  #hasScanTable({ sql }: RuleJson): boolean {
    if (!sql) return false;
    const { from, joins } = parseSelect(sql);
    return [from, ...joins.map(({ table }) => table)].some(
      ({ name }) => this.#options.catalog.source(name)?.options.tableKind === 'scan',
    );
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
