/** Imports and exports of all definitions, and rulesets. */
import { inContext } from '../../base/errors.js';
import type { Gate } from '../../base/structures/gate.js';
import { textFromUtf8 } from '../../base/text/utf8.js';
import type { RuleJson } from '../../meta/definitions/rule-definition.js';
import { kinds } from '../../meta/kinds.js';
import { type DependencyLookup, itemsOfRules } from '../../meta/transfer/dependencies.js';
import { documentOf, type Items, readJson, writeYaml } from '../../meta/transfer/document.js';
import {
  exportAll,
  type Failures,
  type ImportOptions,
  type ImportTarget,
  isClean,
  runImport,
} from '../../meta/transfer/import.js';
import type { SectionName } from '../../meta/transfer/sections.js';
import { readYaml } from '../../meta/transfer/yaml.js';
import { Outcome } from '../body/outcome.js';
import { bodyErrors } from '../errors/body.js';
import { type ResourceFiles, readResource } from '../files/resource-files.js';
import { type Body, readImport } from './import-body.js';
import { missingIn, secretsIn, withoutSecrets } from './secrets.js';

export interface ImportResult {
  readonly ErrorMsg: string;
  readonly ConfigResponse: Record<SectionName, Record<string, string>>;
  /** Items whose secrets were left out of the document and are not known here, where there are any. */
  readonly MissingSecrets?: readonly string[];
}

/** A document for a client to keep. */
export interface ExportedDocument {
  readonly text: string;
  /** Warnings for whoever keeps the document, one sentence each. */
  readonly warnings: readonly string[];
}

export interface ImportRequest {
  /** Whether items that are not part of the import stay. */
  readonly isPartial: boolean;
  readonly isDryRun: boolean;
  /** Whether a refused item leaves everything as it was; otherwise the other items are imported. */
  readonly isStrict: boolean;
  /** The server ends when the import has succeeded. */
  readonly isStopping: boolean;
}

export interface TransferOptions {
  readonly target: ImportTarget;
  readonly files: ResourceFiles;
  /** Gate that imports pass alone. */
  readonly gate: Gate;
  readonly lookup: DependencyLookup;
  readonly rule: (id: string) => RuleJson;
  readonly stop: () => void;
}

const statusKey = 'last';
/** Items named in a remark. */
const maxPlaces = 20;
const rulesetSections = ['streams', 'tables', 'rules'] as const;

export class TransferService {
  readonly #options: TransferOptions;

  constructor(options: TransferOptions) {
    this.#options = options;
  }

  /**
   * Imports a JSON document; rejects with the failures of items as JSON text, the other items are taken then unless it
   * is strict.
   */
  async import(body: Body, request: ImportRequest, signal?: AbortSignal): Promise<ImportResult> {
    const { isPartial, isDryRun, isStrict, isStopping } = request;
    const items = readJson(await this.#content(body));
    const failures = await this.#run(items, { isReset: !isPartial, isStrict, isDryRun, signal });
    const response = documentOf(failures);
    if (!isClean(failures)) throw bodyErrors.problems(JSON.stringify(response));
    const missing = isDryRun ? [] : await this.#missing(items);
    if (isStopping && !isDryRun) this.#options.stop();
    return { ErrorMsg: '', ConfigResponse: response, ...(missing.length === 0 ? {} : { MissingSecrets: missing }) };
  }

  async #missing(items: Items<unknown>): Promise<string[]> {
    return missingIn(await exportAll(this.#options.target), items);
  }

  /** Imports a YAML document over what is there, all of it or nothing. */
  importYaml(body: Body, isDryRun: boolean): Promise<string | Outcome> {
    return inContext('import error', async () => {
      const items = await readYaml(await this.#content(body));
      const failures = await this.#run(items, { isReset: false, isStrict: true, isDryRun });
      if (isClean(failures)) return new Outcome('success', isDryRun ? [] : missingTexts(await this.#missing(items)));
      throw bodyErrors.problems(reasonsOf(failures).join('; '));
    });
  }

  /** Failures of the last import, by section and name. */
  status(): Record<SectionName, Record<string, string>> {
    const text = this.#options.target.store.get(kinds.importStatus, statusKey);
    return text === undefined ? documentOf<string>(new Map()) : (JSON.parse(text) as ImportResult['ConfigResponse']);
  }

  /** Exports all definitions; secrets are in it as they are unless they are to be left out. */
  async export(omitsSecrets: boolean): Promise<ExportedDocument> {
    const { items, warnings } = await forExport(await exportAll(this.#options.target), omitsSecrets);
    return { text: JSON.stringify(documentOf(items)), warnings };
  }

  /** Exports some rules with all they need. */
  exportRules(ids: unknown, omitsSecrets: boolean): Promise<ExportedDocument> {
    return inContext('export error', async () => {
      if (!Array.isArray(ids) || !ids.every((id) => typeof id === 'string')) {
        throw bodyErrors.notRuleIds();
      }
      const rules = new Map(ids.map((id: string) => [id, this.#options.rule(id)]));
      const all = await exportAll(this.#options.target);
      const { items, warnings } = await forExport(itemsOfRules(all, rules, this.#options.lookup), omitsSecrets);
      return { text: JSON.stringify(documentOf(items)), warnings };
    });
  }

  async exportYaml(omitsSecrets: boolean): Promise<ExportedDocument> {
    const { items, warnings } = await forExport(await exportAll(this.#options.target), omitsSecrets);
    return { text: warnings.map((text) => `# ${text}\n`).join('') + (await writeYaml(items)), warnings };
  }

  async exportRuleset(omitsSecrets: boolean): Promise<ExportedDocument> {
    const all = await exportAll(this.#options.target);
    const some = new Map([...all].filter(([section]) => (rulesetSections as readonly string[]).includes(section)));
    const { items, warnings } = await forExport(some, omitsSecrets);
    const document = documentOf(items);
    const text = JSON.stringify(Object.fromEntries(rulesetSections.map((section) => [section, document[section]])));
    return { text, warnings };
  }

  /** Adds streams, tables and rules whose names are free; what can't be used is left out. */
  importRuleset(body: Body): Promise<string | Outcome> {
    return inContext('import ruleset error', async () => {
      const given = readJson(await this.#content(body));
      const { gate, target } = this.#options;
      const { counts, failures } = await gate.exclusive(async () => {
        const fresh = await this.#withoutExisting(given);
        const options = { isReset: false, isStrict: false, isDryRun: false };
        const failures = await runImport(target, fresh, options);
        await target.store.put(kinds.importStatus, statusKey, JSON.stringify(documentOf(failures)));
        const counts = rulesetSections.map((section) => countOf(fresh, section) - countOf(failures, section));
        return { counts, failures };
      });
      const text = `imported ${counts[0]} streams, ${counts[1]} tables and ${counts[2]} rules`;
      // Clients compare the text, so refused items stand in the header.
      return new Outcome(text, missingTexts(await this.#missing(given)), failureTexts(failures));
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

/** The items as they leave the server, and what is to be said about their secrets. */
async function forExport(
  items: Items<string>,
  omitsSecrets: boolean,
): Promise<{ items: Items<string>; warnings: string[] }> {
  const places = await secretsIn(items);
  if (places.length === 0) return { items, warnings: [] };
  const where = places.length > maxPlaces ? `${places.slice(0, maxPlaces).join(', ')} …` : places.join(', ');
  return omitsSecrets
    ? { items: await withoutSecrets(items), warnings: [`secrets were left out: ${where}`] }
    : { items, warnings: [`this export holds secrets as they are (${where}), secrets=omit leaves them out`] };
}

function reasonsOf(failures: Failures): string[] {
  return [...failures].flatMap(([section, items]) =>
    [...items].map(([name, reason]) => `${section} ${name}: ${reason}`),
  );
}

function failureTexts(failures: Failures): string[] {
  return reasonsOf(failures).map((reason) => `not imported: ${reason}`);
}

function missingTexts(places: readonly string[]): string[] {
  return places.map((place) => `a secret of ${place} was left out of the document and is missing`);
}

function countOf(items: ReadonlyMap<SectionName, ReadonlyMap<string, unknown>>, section: SectionName): number {
  return items.get(section)?.size ?? 0;
}
