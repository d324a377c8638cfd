/** JavaScript functions: their texts, checked for form and kept. */
import type { Config } from '../../base/config/config.js';
import { inContext } from '../../base/errors.js';
import type { RecordShape } from '../../meta/definitions/records.js';
import { checkId } from '../../meta/ids.js';
import type { ScriptCode, ScriptLimits, UserFunction } from '../../plugins/define.js';
import { scriptFault } from '../../plugins/javascript/check.js';
import { newUserNumber } from '../../plugins/numbers.js';
import { textOf } from '../body/fields.js';
import { bodyErrors } from '../errors/body.js';
import { installErrors } from '../errors/installed.js';
import { type InstalledOptions, type InstalledRecord, InstalledService } from './installed.js';

export interface ScriptRecord extends InstalledRecord {
  readonly description: string;
  readonly script: string;
  readonly isAgg: boolean;
}

export const scriptShape: RecordShape<ScriptRecord> = { script: 'text', description: 'text' };

export interface DescribedScript {
  readonly id: string;
  readonly description: string;
  readonly script: string;
  readonly isAgg: boolean;
  /** Memory of the script's instances, bytes; left out while no rule calls the script. */
  readonly memoryBytes?: number;
}

/** Limits of time and memory for calls of scripts, from the configuration. */
export function scriptLimitsOf(config: Config['plugin']['javascript']): ScriptLimits {
  return {
    callMs: config.callTimeout,
    batchMs: config.batchTimeout,
    memoryBytes: config.maxMemoryBytes,
    stackBytes: config.maxStackBytes,
  };
}

export class ScriptService extends InstalledService<ScriptRecord> {
  readonly #runnable = new Map<string, UserFunction & { readonly code: ScriptCode }>();
  readonly #limits: ScriptLimits;
  #versions = 0;

  /** @param memoryOf bytes that the code of an owner has at work */
  constructor(
    options: InstalledOptions<ScriptRecord>,
    config: Config['plugin']['javascript'],
    private readonly memoryOf: (owner: string) => Promise<number>,
  ) {
    super(options);
    this.#limits = scriptLimitsOf(config);
  }

  describe(id: string): Promise<DescribedScript> {
    return inContext('describe javascript function error', async () => {
      if (!this.records.has(id)) throw installErrors.notThere(this.kind, id);
      const { description, script, isAgg } = this.get(id);
      const memoryBytes = await this.memoryOf(`${this.kind} ${id}`);
      return { id, description, script, isAgg, ...(memoryBytes > 0 && { memoryBytes }) };
    });
  }

  protected override async read(id: string, body: Readonly<Record<string, unknown>>): Promise<ScriptRecord> {
    checkId(textOf(body, 'id'));
    const { isAgg = false } = body;
    if (typeof isAgg !== 'boolean') throw bodyErrors.notBoolean('isAgg');
    const script = textOf(body, 'script');
    if (script === '') throw installErrors.noScript(id);
    checkScript(id, script);
    return { description: textOf(body, 'description'), script, isAgg, folder: '' };
  }

  /** Each version of a script has its own number: running rules keep the one they started with. */
  runnable(id: string): UserFunction {
    const { script, isAgg } = this.get(id);
    const known = this.#runnable.get(id);
    if (known !== undefined && known.code.script === script && known.isAggregate === isAgg) return known;
    const made = {
      name: id,
      owner: `${this.kind} ${id}`,
      number: newUserNumber(id),
      code: { kind: 'javascript', name: id, version: ++this.#versions, script, limits: this.#limits },
      entry: id,
      isAggregate: isAgg,
      args: { min: 0, max: null },
    } as const;
    this.#runnable.set(id, made);
    return made;
  }

  protected override functionsOf(id: string): readonly string[] {
    return [id];
  }

  protected override requestOf(id: string, { description, script, isAgg }: ScriptRecord): Record<string, unknown> {
    return { id, description, script, isAgg };
  }
}

/** Checks a script without running any of it. */
function checkScript(id: string, script: string): void {
  const reason = scriptFault(id, script);
  if (reason !== undefined) throw installErrors.script(id, reason);
}
