/** Tags of rules, and what is done with all rules that carry certain tags. */
import { inContext, reasonOf } from '../../base/errors.js';
import { bodyErrors } from '../errors/body.js';
import { ruleErrors } from '../errors/rules.js';
import type { RuleService } from './rules.js';

export interface BulkResult {
  readonly ruleId: string;
  readonly success: boolean;
  readonly error?: string;
}

/** Rules started or stopped at the same time. */
const bulkWidth = 64;

export class RuleTagService {
  readonly #rules: RuleService;

  constructor(rules: RuleService) {
    this.#rules = rules;
  }

  /** Replaces the tags of a rule. */
  set(id: string, body: unknown): Promise<void> {
    return this.#change(
      id,
      () => readTags(body),
      (given) => given,
    );
  }

  /** Adds tags that the rule does not have yet. */
  add(id: string, body: unknown): Promise<void> {
    return this.#change(
      id,
      () => readTags(body),
      (given, tags) => [...tags, ...given],
    );
  }

  /** Removes tags that the rule has. */
  remove(id: string, body: unknown): Promise<void> {
    return this.#change(
      id,
      () => readTags(body),
      (given, tags) => tags.filter((tag) => !given.includes(tag)),
    );
  }

  /** Ids of the rules that have all the tags; left out when there are none. */
  match(body: unknown): { rules?: string[] } {
    return inContext('match rules error', () => {
      const ids = this.#matching(readTags(body));
      return ids.length === 0 ? {} : { rules: ids };
    });
  }

  start(body: unknown): Promise<BulkResult[]> {
    return this.#bulk('bulk start rules error', body, (id) => this.#rules.start(id));
  }

  stop(body: unknown): Promise<BulkResult[]> {
    return this.#bulk('bulk stop rules error', body, (id) => this.#rules.stop(id));
  }

  #change(
    id: string,
    read: () => string[],
    change: (given: readonly string[], tags: readonly string[]) => readonly string[],
  ): Promise<void> {
    return inContext('update rule tags error', async () => {
      const given = read();
      await this.#rules.retag(id, (tags) => [...new Set(change(given, tags))]);
    });
  }

  #matching(tags: readonly string[]): string[] {
    return this.#rules
      .tags()
      .filter(([, own]) => tags.every((tag) => own.includes(tag)))
      .map(([id]) => id);
  }

  /** Runs a step for each rule; a failure of one does not stop the others. */
  #bulk(context: string, body: unknown, step: (id: string) => Promise<unknown>): Promise<BulkResult[]> {
    return inContext(context, async () => {
      const ids = this.#matching(readTags(body));
      if (ids.length === 0) throw ruleErrors.noneMatch();
      const results: BulkResult[] = [];
      for (let i = 0; i < ids.length; i += bulkWidth) {
        results.push(...(await Promise.all(ids.slice(i, i + bulkWidth).map((id) => attempt(id, step)))));
      }
      return results;
    });
  }
}

async function attempt(ruleId: string, step: (id: string) => Promise<unknown>): Promise<BulkResult> {
  try {
    await step(ruleId);
    return { ruleId, success: true };
  } catch (error) {
    return { ruleId, success: false, error: reasonOf(error) };
  }
}

/** Clients name the list `keys` or `tags`; when both are there they are taken together. */
function readTags(body: unknown): string[] {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw bodyErrors.notTags();
  }
  const { tags, keys } = body as Record<string, unknown>;
  if ((tags ?? keys ?? undefined) === undefined) throw bodyErrors.noTags();
  return [...new Set([...readList('tags', tags), ...readList('keys', keys)])];
}

function readList(name: string, value: unknown): string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value) || !value.every((tag) => typeof tag === 'string')) {
    throw bodyErrors.notTexts(name);
  }
  return value;
}
