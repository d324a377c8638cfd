/**
 * Layouts, flags and numbers that both sides of the border share: declared in assembly/<folder>/layouts.json, written
 * for the kernel (assembly/gen/<folder>-layouts.ts) and for the host (kernels/gen/layouts.ts).
 *
 * A field is `name type doc`; `type[count]` is an array, `@n` goes on at offset n. Fields stand at the next multiple of
 * their size, unless the struct is packed. A type that names a struct is a pointer to it, `usize` one to anything.
 * `filled` names the fields that the kernel writes itself.
 *
 * The kernel gets a class for each struct. Of vectors, packed structs and arrays it gets offsets: a class cannot say
 * what they are.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { emit } from './emit.mjs';
import { root } from './root.mjs';

const sizes = { u8: 1, i8: 1, u16: 2, u32: 4, i32: 4, u64: 8, i64: 8, f64: 8, usize: 4 };
const fieldForm = /^(\w+) (\w+)(?:\[([^\]]+)\])?(?: (.+))?$/;

const className = (name) => name[0].toUpperCase() + name.slice(1);
const upper = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();

/** Folders of assembly/ that declare layouts. */
function declarations() {
  const dir = join(root, 'assembly');
  return readdirSync(dir)
    .sort()
    .filter((folder) => existsSync(join(dir, folder, 'layouts.json')))
    .map((folder) => ({
      folder,
      enums: [],
      constants: [],
      structs: [],
      ...JSON.parse(readFileSync(join(dir, folder, 'layouts.json'), 'utf8')),
    }));
}

/** Places the fields of a struct. Throws when a declaration is malformed, overlaps or does not fit. */
function placed(struct, constants, names) {
  let at = 0;
  const fields = [];
  for (const text of struct.fields) {
    if (text.startsWith('@')) {
      const to = Number(text.slice(1));
      if (!(to >= at)) throw new Error(`layout ${struct.name}: ${text} lies before ${at}`);
      at = to;
      continue;
    }
    const [, name, type, count, doc = ''] = fieldForm.exec(text) ?? [];
    const size = names.has(type) ? sizes.usize : sizes[type];
    if (size === undefined) throw new Error(`layout ${struct.name}: "${text}" is no field`);
    if (fields.some((field) => field.name === name)) throw new Error(`layout ${struct.name}: ${name} is there twice`);
    if (!struct.packed) at = Math.ceil(at / size) * size;
    fields.push({ name, type, at, size, doc, isArray: count !== undefined });
    at += size * (count === undefined ? 1 : counted(count, constants));
  }
  const size = struct.size ?? at;
  if (size < at) throw new Error(`layout ${struct.name}: ${at} bytes do not fit ${size}`);
  for (const name of struct.filled ?? []) {
    if (!fields.some((field) => field.name === name))
      throw new Error(`layout ${struct.name}: no field ${name} to fill`);
  }
  return { ...struct, fields, size };
}

/** `8`, `batchRows`, `batchRows + 1` */
function counted(text, constants) {
  return text.split('+').reduce((sum, term) => {
    const value = constants.get(term.trim()) ?? Number(term);
    if (!Number.isInteger(value)) throw new Error(`"${text}" is no count`);
    return sum + value;
  }, 0);
}

const width = 120;

/** A comment, in lines of at most 120 characters. */
function comment(doc, indent = '') {
  if (doc === undefined || doc === '') return '';
  const line = `${indent}/** ${doc} */\n`;
  if (line.length <= width + 1) return line;
  const lines = [''];
  for (const word of doc.split(' ')) {
    const last = lines.at(-1);
    if (last === '') lines[lines.length - 1] = word;
    else if (`${indent} * ${last} ${word}`.length > width) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return `${indent}/**\n${lines.map((text) => `${indent} * ${text}\n`).join('')}${indent} */\n`;
}

/** A constant of an object, a member a line where one line has no room. */
function constant(name, before, object, after) {
  const line = `export const ${name} = ${before}${JSON.stringify(object)}${after};\n`;
  if (line.length <= width + 1) return line;
  const members = Object.entries(object).map(([key, value]) => `  ${JSON.stringify(key)}: ${JSON.stringify(value)},\n`);
  return `export const ${name} = ${before}{\n${members.join('')}}${after};\n`;
}

/** Offsets of a struct that has no class, below a drawing of it. */
function offsets({ name, prefix, doc, fields, size }) {
  const drawing = fields.map(
    (field) =>
      `//   ${String(field.at).padEnd(5)}${field.name} ` +
      `${field.type}${field.isArray ? '[]' : ''}${field.doc && `   ${field.doc}`}`,
  );
  const lines = fields.map((field) => offset(prefix, field));
  return `// ${name}, ${size} bytes. ${doc}\n//\n${drawing.join('\n')}\n${lines.join('')}${sizeOf(prefix, size)}`;
}

const offset = (prefix, { name, at }) => `export const ${prefix}_${upper(name)}: usize = ${at};\n`;
const sizeOf = (prefix, size) => `export const ${prefix}_SIZE_OF: u32 = ${size};\n`;

/** The class of a struct. The compiler puts each field at the next multiple of its size, so gaps get fields as well. */
function unmanaged({ name, prefix, doc, fields, size }) {
  const lines = [];
  let end = 0;
  for (const field of fields.filter((one) => !one.isArray)) {
    while (Math.ceil(end / field.size) * field.size < field.at) {
      const width = [8, 4, 2, 1].find((one) => end % one === 0 && end + one <= field.at);
      lines.push(`  private gap${end}: u${width * 8};\n`);
      end += width;
    }
    if (Math.ceil(end / field.size) * field.size !== field.at) {
      throw new Error(`layout ${name}: a class cannot have ${field.name} at ${field.at}`);
    }
    const type = sizes[field.type] === undefined ? className(field.type) : field.type;
    lines.push(`${comment(field.doc, '  ')}  ${field.name}: ${type};\n`);
    end = field.at + field.size;
  }
  const arrays = fields.filter((one) => one.isArray).map((one) => `// ${one.doc || one.name}\n${offset(prefix, one)}`);
  return (
    `${comment(doc)}// @ts-ignore: decorator\n@unmanaged\nexport class ${className(name)} {\n${lines.join('')}}\n` +
    `${arrays.join('')}${sizeOf(prefix, size)}`
  );
}

/** Imports of the classes that pointers of the file need from others. */
function pointed(folder, structs, names) {
  const types = structs.flatMap((struct) => struct.fields.map((field) => field.type));
  const others = [...new Set(types)].filter((type) => names.has(type) && names.get(type) !== folder).sort();
  return others.map((type) => `import { ${className(type)} } from './${names.get(type)}-layouts';\n`).join('');
}

function kernelFile({ folder, about, enums, constants, structs }, names) {
  const parts = [
    `// Generated by tools/layouts.mjs from assembly/${folder}/layouts.json. Do not edit.\n// ${about}\n` +
      pointed(folder, structs, names),
  ];
  for (const { name, type, value, doc } of constants) {
    parts.push(`${comment(doc)}export const ${upper(name)}: ${type} = ${value};\n`);
  }
  for (const { name, type, doc, values, docs = {} } of enums) {
    const lines = Object.entries(values).map(
      ([key, value]) => `${comment(docs[key], '  ')}  export const ${upper(key)}: ${type} = ${value};\n`,
    );
    parts.push(`${comment(doc)}export namespace ${name} {\n${lines.join('')}}\n`);
  }
  for (const struct of structs) parts.push(struct.isVector || struct.packed ? offsets(struct) : unmanaged(struct));
  return parts.join('\n');
}

/** Pointers are numbers for the host. */
const hostType = (type) => (type === 'usize' || sizes[type] === undefined ? 'u32' : type);

function hostFile(all) {
  const parts = [
    '// Generated by tools/layouts.mjs from assembly/*/layouts.json. Do not edit.\n',
    "import { layout } from '../memory/layout.js';\n",
  ];
  for (const { constants, enums, structs } of all) {
    for (const { name, type, value, doc } of constants) {
      parts.push(`${comment(doc)}export const ${name} = ${value}${type.endsWith('64') ? 'n' : ''};\n`);
    }
    for (const { name, doc, values, docs = {}, texts } of enums) {
      parts.push(`${comment(doc)}${constant(name, '', values, ' as const')}`);
      if (!texts) continue;
      const byValue = Object.fromEntries(Object.entries(docs).map(([key, text]) => [values[key], text]));
      const textsName = `${name[0].toLowerCase()}${name.slice(1)}Texts`;
      parts.push(
        `${comment(`Texts of ${name} by number.`)}` +
          constant(`${textsName}: Readonly<Record<number, string>>`, '', byValue, ''),
      );
    }
    for (const { name, doc, fields, size, filled = [] } of structs) {
      const isWritten = (field) => !field.isArray && !filled.includes(field.name);
      const table = Object.fromEntries(
        fields.map((field) => [field.name, isWritten(field) ? [field.at, hostType(field.type)] : field.at]),
      );
      parts.push(`${comment(doc)}${constant(name, `/* @__PURE__ */ layout(${size}, `, table, ')')}`);
    }
  }
  return parts.join('\n');
}

/** Numbers of the kinds of nodes, which each folder declares of its own: `nodes` of its layouts. */
export function nodeKinds(declared = declarations()) {
  const named = declared.flatMap(({ nodes = {} }) => Object.entries(nodes)).sort(([, one], [, other]) => one - other);
  const values = Object.fromEntries(named);
  if (new Set(Object.values(values)).size < named.length) throw new Error('two kinds of nodes have the same number');
  return values;
}

function nodeKindOf(declared) {
  return declared.flatMap(({ enums }) => enums).find(({ name }) => name === 'NodeKind');
}

/** Writes the files of both sides. */
export function generateLayouts() {
  const declared = declarations();
  nodeKindOf(declared).values = nodeKinds(declared);
  const constants = new Map(declared.flatMap((one) => one.constants.map(({ name, value }) => [name, Number(value)])));
  const names = new Map(declared.flatMap(({ folder, structs }) => structs.map(({ name }) => [name, folder])));
  const all = declared.map((one) => ({
    ...one,
    structs: one.structs.map((struct) => placed(struct, constants, names)),
  }));
  for (const one of all) emit(`assembly/gen/${one.folder}-layouts.ts`, kernelFile(one, names));
  emit('kernels/gen/layouts.ts', hostFile(all));
}
