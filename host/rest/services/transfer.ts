/** Imports and exports of all definitions, and rulesets. */
import { HaumeaError } from '../../base/errors.js';
import type { Gate } from '../../base/gate.js';
import { textFromUtf8 } from '../../base/utf8.js';
import { kinds } from '../../meta/kinds.js';
import type { RuleJson } from '../../meta/rule-definition.js';
import { type DependencyLookup, itemsOfRules } from '../../meta/transfer/dependencies.js';
import {
  documentOf,
  type Items,
  readJson,
  readYaml,
  type SectionName,
  writeYaml,
} from '../../meta/transfer/document.js';
import {
  exportAll,
  type Failures,
  type ImportOptions,
  type ImportTarget,
  isClean,
  runImport,
} from '../../meta/transfer/import.js';
import { inContext } from '../route.js';
import { type ResourceFiles, readResource, textOf } from './resource-files.js';

type Body = Readonly<Record<string, unknown>>;

export interface ImportResult {
  readonly ErrorMsg: string;
  readonly ConfigResponse: Record<SectionName, Record<string, string>>;
}

export interface ImportRequest {
  /** What is not part of the import stays. */
  readonly isPartial: boolean;
  readonly isDryRun: boolean;
  /** An item that is refused leaves everything as it was; otherwise the other items are taken. */
  readonly isStrict: boolean;
  /** The server ends when the import has succeeded. */
  readonly isStopping: boolean;
}

export interface TransferOptions {
  readonly target: ImportTarget;
  readonly files: ResourceFiles;
  /** Imports pass it alone. */
  readonly gate: Gate;
  readonly lookup: DependencyLookup;
  readonly rule: (id: string) => RuleJson;
  readonly stop: () => void;
}

const statusKey = 'last';
const rulesetSections = ['streams', 'tables', 'rules'] as const;

export class TransferService {
  readonly #options: TransferOptions;

  constructor(options: TransferOptions) {
    this.#options = options;
  }

  /** Imports a JSON document; rejects with the failures of items as JSON text, the other items are taken then unless it is strict. */
  async import(body: Body, request: ImportRequest, signal?: AbortSignal): Promise<ImportResult> {
    const { isPartial, isDryRun, isStrict, isStopping } = request;
    const items = readJson(await this.#content(body));
    const failures = await this.#run(items, { isReset: !isPartial, isStrict, isDryRun, signal });
    const response = documentOf(failures);
    if (!isClean(failures)) throw new HaumeaError('general', JSON.stringify(response));
    if (isStopping && !isDryRun) this.#options.stop();
    return { ErrorMsg: '', ConfigResponse: response };
  }

  /** Imports a YAML document over what is there, all of it or nothing. */
  importYaml(body: Body, isDryRun: boolean): Promise<string> {
    return inContext('import error', async () => {
      const items = await readYaml(await this.#content(body));
      const failures = await this.#run(items, { isReset: false, isStrict: true, isDryRun });
      if (isClean(failures)) return 'success';
      const reasons = [...failures].flatMap(([section, items]) =>
        [...items].map(([name, reason]) => `${section} ${name}: ${reason}`),
      );
      throw new HaumeaError('general', reasons.join('; '));
    });
  }

  /** Failures of the last import, by section and name. */
  status(): Record<SectionName, Record<string, string>> {
    const text = this.#options.target.store.get(kinds.importStatus, statusKey);
    return text === undefined ? documentOf<string>(new Map()) : (JSON.parse(text) as ImportResult['ConfigResponse']);
  }

  async export(): Promise<string> {
    return JSON.stringify(documentOf(await exportAll(this.#options.target)));
  }

  /** Exports some rules with all they need. */
  exportRules(ids: unknown): Promise<string> {
    return inContext('export error', async () => {
      if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) {
        throw new HaumeaError('general', 'invalid body: a list of rule ids was expected');
      }
      const rules = new Map(ids.map((id: string) => [id, this.#options.rule(id)]));
      const all = await exportAll(this.#options.target);
      return JSON.stringify(documentOf(itemsOfRules(all, rules, this.#options.lookup)));
    });
  }

  async exportYaml(): Promise<string> {
    return writeYaml(await exportAll(this.#options.target));
  }

  async exportRuleset(): Promise<string> {
    const document = documentOf(await exportAll(this.#options.target));
    return JSON.stringify(Object.fromEntries(rulesetSections.map((section) => [section, document[section]])));
  }

  /** Adds streams, tables and rules whose names are free; what can't be used is left out. */
  importRuleset(body: Body): Promise<string> {
    return inContext('import ruleset error', async () => {
      const given = readJson(await this.#content(body));
      const { gate, target } = this.#options;
      const counts = await gate.exclusive(async () => {
        const fresh = await this.#withoutExisting(given);
        const options = { isReset: false, isStrict: false, isDryRun: false };
        const failures = await runImport(target, fresh, options);
        return rulesetSections.map((section) => countOf(fresh, section) - countOf(failures, section));
      });
      return `imported ${counts[0]} streams, ${counts[1]} tables and ${counts[2]} rules`;
    });
  }

  async #withoutExisting(given: Items<unknown>): Promise<Items<unknown>> {
    const { sections, rules } = this.#options.target;
    const sources = new Set<string>();
    for (const section of [sections.streams, sections.tables]) {
      for (const name of Object.keys((await section?.export()) ?? {})) sources.add(name);
    }
    const existing = { streams: sources, tables: sources, rules: new Set(rules.ids()) };
    return new Map(
      rulesetSections.map((section) => {
        const items = [...(given.get(section) ?? [])].filter(([name]) => !existing[section].has(name));
        return [section, new Map(items)];
      }),
    );
  }

  /** Runs an import alone and keeps its failures for those who ask later. */
  #run(items: Items<unknown>, options: ImportOptions): Promise<Failures> {
    const { gate, target } = this.#options;
    return gate.exclusive(async () => {
      options.signal?.throwIfAborted();
      const failures = await runImport(target, items, options);
      if (!options.isDryRun) {
        await target.store.put(kinds.importStatus, statusKey, JSON.stringify(documentOf(failures)));
      }
      return failures;
    });
  }

  async #content(body: Body): Promise<string> {
    const { content, file } = readImport(body);
    return content === ''
      ? textFromUtf8(await readResource(file, this.#options.files), `the content of ${file}`)
      : content;
  }
}

/** Reads where an import takes its document from: exactly one of a text and a URI; the other is empty. */
export function readImport(body: Body): { content: string; file: string } {
  const content = textOf(body, 'content');
  const file = textOf(body, 'file');
  if (content !== '' && file !== '') throw new HaumeaError('general', 'invalid body: both content and file are given');
  if (content === '' && file === '') throw new HaumeaError('general', 'invalid body: must specify content or file');
  return { content, file };
}

function countOf(items: ReadonlyMap<SectionName, ReadonlyMap<string, unknown>>, section: SectionName): number {
  return items.get(section)?.size ?? 0;
}
