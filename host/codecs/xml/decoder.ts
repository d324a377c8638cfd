/**
 * XML as JSON: the content of the root element is the row. Attributes are members `@name`, elements that repeat are
 * lists, text beside attributes and elements is `#text`. Texts become what the columns are declared as.
 */
import { XMLParser, XMLValidator } from 'fast-xml-parser';
import type { ColumnType } from '../../../kernels/plan/ir.js';
import type { MessageDecoder } from '../define.js';
import { JsonWriter, maxDepth } from '../json-writer.js';

/** An element: its text, or its members; a list of those that repeat. */
type Content = string | Content[] | { readonly [name: string]: Content };

type Columns = readonly { readonly name: string; readonly type: ColumnType }[];

const textName = '#text';
const any: ColumnType = { type: 'any' };
const predefined: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', apos: "'", quot: '"' };
/** Most tags, attributes and references of a document, taken together: each takes the thread of all rules its time. */
const maxMarks = 200_000;
const marks: ReadonlySet<number> = new Set([...'<=&'].map((sign) => sign.charCodeAt(0)));
const longestCode = 8;
const lastCharacter = 0x10ffff;

export class XmlDecoder implements MessageDecoder {
  readonly #out = new JsonWriter();
  readonly #root: ColumnType;
  readonly #parser = new XMLParser({
    ignoreAttributes: false,
    attributeNamePrefix: '@',
    textNodeName: textName,
    parseTagValue: false,
    parseAttributeValue: false,
    trimValues: false,
    ignoreDeclaration: true,
    ignorePiTags: true,
    jPath: false,
    maxNestedTags: maxDepth,
    onDangerousProperty: (name) => name,
    entityDecoder: {
      decode: withCharacters,
      addInputEntities: refuseEntities,
      setExternalEntities: () => {},
      setXmlVersion: () => {},
      reset: () => {},
    },
  });

  constructor(columns: Columns | null) {
    this.#root = columns === null ? any : { type: 'struct', fields: [...columns] };
  }

  decode(message: Uint8Array): Uint8Array {
    const text = textOf(message);
    if (hasTooMany(text)) throw new Error(`it has more than ${maxMarks} tags, attributes and references`);
    const checked = XMLValidator.validate(text);
    if (checked !== true) throw new Error(`line ${checked.err.line}: ${checked.err.msg}`);
    const roots = Object.entries(this.#parser.parse(text) as { [name: string]: Content });
    const content = roots[0]?.[1];
    if (content === undefined || roots.length > 1 || Array.isArray(content)) {
      throw new Error('it has not one root element');
    }
    this.#out.begin();
    this.#write(typeof content === 'string' ? textMember(content) : content, this.#root);
    return this.#out.bytes;
  }

  #write(content: Content, type: ColumnType): void {
    if (type.type === 'array') this.#list(listOf(content), type.element);
    else if (Array.isArray(content)) this.#list(content, type);
    else if (type.type === 'struct') this.#members(typeof content === 'string' ? textMember(content) : content, type);
    else if (typeof content === 'string') this.#text(content, type);
    else if (type.type === 'any') this.#members(content, type);
    else this.#text(ownText(content), type);
  }

  #list(items: readonly Content[], element: ColumnType): void {
    this.#out.raw('[');
    items.forEach((item, i) => {
      this.#out.next(i);
      this.#write(item, element);
    });
    this.#out.raw(']');
  }

  #members(content: { readonly [name: string]: Content }, type: ColumnType): void {
    const fields = type.type === 'struct' ? type.fields : [];
    this.#out.raw('{');
    let count = 0;
    for (const [name, member] of Object.entries(content)) {
      // Blanks between elements.
      if (name === textName && typeof member === 'string' && member.trim() === '') continue;
      this.#out.next(count++);
      this.#out.text(name);
      this.#out.raw(':');
      this.#write(member, fields.find((field) => field.name === name)?.type ?? any);
    }
    this.#out.raw('}');
  }

  #text(content: string, { type }: ColumnType): void {
    const text = content.trim();
    const plain = plainOf(text, type);
    if (plain === undefined) this.#out.text(text);
    else this.#out.raw(plain);
  }
}

function hasTooMany(text: string): boolean {
  if (text.length <= maxMarks) return false;
  let count = 0;
  for (let i = 0; i < text.length; i++) if (marks.has(text.charCodeAt(i))) count++;
  return count > maxMarks;
}

/** JSON of a text that is no text by its type; undefined: it stays one. */
function plainOf(text: string, type: ColumnType['type']): string | undefined {
  if (type === 'any' || type === 'string') return undefined;
  if (text === '') return 'null';
  switch (type) {
    case 'bigint':
      return /^[-+]?\d+$/.test(text) ? text.replace(/^\+/, '').replace(/^(-?)0+(?=\d)/, '$1') : undefined;
    case 'float': {
      if (/^(NaN|[-+]?INF)$/.test(text)) return 'null';
      const isNumber = /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/.test(text);
      return isNumber && Number.isFinite(Number(text)) ? String(Number(text)) : undefined;
    }
    case 'boolean':
      if (text === '1' || text === 'true') return 'true';
      return text === '0' || text === 'false' ? 'false' : undefined;
    default:
      return undefined;
  }
}

/** The elements of a list: one that is there once is a list of one. */
function listOf(content: Content): readonly Content[] {
  if (Array.isArray(content)) return content;
  return typeof content === 'string' && content.trim() === '' ? [] : [content];
}

function textMember(text: string): { readonly [name: string]: Content } {
  return text.trim() === '' ? {} : { [textName]: text };
}

/** Text of an element that has more than that. */
function ownText(content: { readonly [name: string]: Content }): string {
  const text = Object.hasOwn(content, textName) ? content[textName] : '';
  return typeof text === 'string' ? text : '';
}

/** Text of a document in the encoding that it names, UTF-8 otherwise. */
function textOf(message: Uint8Array): string {
  const isWide = (message[0] === 0xff && message[1] === 0xfe) || (message[0] === 0xfe && message[1] === 0xff);
  const head = Buffer.from(message.buffer, message.byteOffset, Math.min(message.length, 200)).toString('latin1');
  const named = /^(?:\u00ef\u00bb\u00bf)?<\?xml[^>]*?\sencoding\s*=\s*["']([\w.:-]+)["']/.exec(head)?.[1];
  const encoding = isWide ? (message[0] === 0xff ? 'utf-16le' : 'utf-16be') : (named ?? 'utf-8');
  let decoder: InstanceType<typeof TextDecoder>;
  try {
    decoder = new TextDecoder(encoding, { fatal: true });
  } catch {
    throw new Error(`its encoding ${encoding} is not known`);
  }
  try {
    return decoder.decode(message);
  } catch {
    throw new Error(`it has bytes that are not ${encoding}`);
  }
}

/** The text with its characters in the place of references; there are none to other entities. */
function withCharacters(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(/&([^;&\s]*)(;?)/g, (reference, name: string, end: string) => {
    const known = Object.hasOwn(predefined, name) ? predefined[name] : characterOf(name);
    if (end === '' || known === undefined)
      throw new Error(`the reference ${reference.slice(0, 40)} stands for nothing`);
    return known;
  });
}

function characterOf(name: string): string | undefined {
  const [, hex, decimal] = /^#(?:x([\da-fA-F]+)|(\d+))$/.exec(name) ?? [];
  const digits = hex ?? decimal;
  if (digits === undefined || digits.length > longestCode) return undefined;
  const code = Number.parseInt(digits, hex === undefined ? 10 : 16);
  const isCharacter = code > 0 && code <= lastCharacter && (code < 0xd800 || code > 0xdfff);
  return isCharacter ? String.fromCodePoint(code) : undefined;
}

function refuseEntities(entities: Record<string, string>): void {
  const [name] = Object.keys(entities);
  if (name !== undefined) throw new Error(`it declares the entity ${name}, which is not allowed`);
}
