/**
 * Reads the text of a YAML document within bounds: what it has written out in full, aliases included, is no larger than
 * JSON may be.
 */
import type { Alias, LineCounter } from 'yaml';
import { HaumeaError, isStackOverflow, yamlReason } from '../../base/errors.js';
import { transferErrors } from './errors.js';

/** Most keys and values: as many as the largest JSON document within its bound has. */
const maxNodes = 500_000;
/** Words, signs, spaces and line ends: a key with its value on a line of its own has eight. */
const maxLexemes = 3_000_000;
/** The length of the largest body. */
const maxBytes = 64 << 20;
/** The library looks through all anchors and aliases for each. */
const maxAliases = 1000;

/** Token of the lexer before each scalar without quotes. */
const scalarMark = '\u001f';

/** Kinds that JSON has as well; a set or a map that keeps its order would lose its content on the way. */
const plainTags = new Set(
  ['str', 'map', 'seq', 'int', 'float', 'bool', 'null'].map((name) => `tag:yaml.org,2002:${name}`),
);

type Yaml = typeof import('yaml');

/** Reads a document as plain data; throws with the line and column of what can't be read. */
export async function parseYaml(text: string): Promise<unknown> {
  const { default: yaml } = await import('yaml');
  checkLength(text, yaml);
  try {
    const lines = new yaml.LineCounter();
    // The library compares each key with each other.
    const document = yaml.parseDocument(text, { uniqueKeys: false, lineCounter: lines });
    if (document.errors[0] !== undefined) throw document.errors[0];
    new Measure(yaml, lines).walk(document.contents);
    return document.toJS({ maxAliasCount: -1 });
  } catch (error) {
    if (error instanceof HaumeaError) throw error;
    const reason = isStackOverflow(error) ? 'it is nested too deeply' : yamlReason(error);
    throw transferErrors.notYaml(reason, { cause: error });
  }
}

/** Counts before anything is made of them: each takes a hundred times its length. */
function checkLength(text: string, yaml: Yaml): void {
  let nodes = 0;
  let lexemes = 0;
  let isScalar = false;
  for (const lexeme of new yaml.Lexer().lex(text)) {
    if (++lexemes > maxLexemes) throw transferErrors.tooLong(maxLexemes);
    const wasCounted = isScalar;
    isScalar = lexeme === scalarMark;
    if (wasCounted || !(isScalar || '"\'*[{'.includes(lexeme[0] ?? ' '))) continue;
    if (++nodes > maxNodes) throw transferErrors.tooLarge(maxNodes);
  }
}

interface Weight {
  readonly nodes: number;
  readonly bytes: number;
}

/** Walks a document and sums up what it has when it is written out. */
class Measure {
  readonly #yaml: Yaml;
  readonly #lines: LineCounter;
  /** Weight of the value of each anchor; undefined while that value is being measured. */
  readonly #anchors = new Map<string, Weight | undefined>();
  #nodes = 0;
  #bytes = 0;
  #aliases = 0;

  constructor(yaml: Yaml, lines: LineCounter) {
    this.#yaml = yaml;
    this.#lines = lines;
  }

  walk(node: unknown): void {
    const { isAlias, isCollection, isMap, isNode, isScalar } = this.#yaml;
    if (!isNode(node)) return;
    if (isAlias(node)) {
      this.#alias(node);
      return;
    }
    const [nodes, bytes] = [this.#nodes, this.#bytes];
    const { anchor, tag } = node;
    if (tag !== undefined && tag !== '!' && !plainTags.has(tag)) {
      throw transferErrors.contentAt(`has the tag ${tag}, which JSON has nothing for`, this.#place(node));
    }
    if (anchor !== undefined) this.#anchors.set(anchor, undefined);
    this.#add(node, { nodes: 1, bytes: isScalar(node) ? (node.source ?? '').length : 2 });
    if (isMap(node)) {
      const known = new Set<string>();
      for (const { key, value } of node.items) {
        const name = String(key);
        if (known.has(name)) throw new Error(`${name} is there twice in one map${this.#place(key)}`);
        known.add(name);
        this.walk(key);
        this.walk(value);
      }
    } else if (isCollection(node)) for (const item of node.items) this.walk(item);
    if (anchor !== undefined) this.#anchors.set(anchor, { nodes: this.#nodes - nodes, bytes: this.#bytes - bytes });
  }

  #alias(node: Alias): void {
    const refuse = (what: string) => transferErrors.contentAt(what, this.#place(node));
    if (++this.#aliases > maxAliases) throw refuse(`has more than ${maxAliases} aliases: *${node.source}`);
    if (!this.#anchors.has(node.source)) throw refuse(`has the alias *${node.source} without an anchor before it`);
    const weight = this.#anchors.get(node.source);
    if (weight === undefined) throw refuse(`has the alias *${node.source} within what it stands for`);
    this.#add(node, weight);
  }

  #add(node: unknown, { nodes, bytes }: Weight): void {
    this.#nodes += nodes;
    this.#bytes += bytes;
    const bound =
      this.#nodes > maxNodes ? `${maxNodes} keys and values` : this.#bytes > maxBytes ? `${maxBytes} bytes` : undefined;
    if (bound === undefined) return;
    const what = `the content has more than ${bound} when its aliases are written out`;
    throw transferErrors.at(what, this.#place(node));
  }

  #place(node: unknown): string {
    const range = this.#yaml.isNode(node) ? node.range : undefined;
    if (range === undefined || range === null) return '';
    const { line, col } = this.#lines.linePos(range[0]);
    return ` at line ${line}, column ${col}`;
  }
}
