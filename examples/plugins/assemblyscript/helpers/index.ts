// What plugins in AssemblyScript can tell the engine besides a result: copy this file beside your own, or import it as
// the example `reading` does. Functions over texts, objects and lists need a manifest and `asc … --exportRuntime`.

@external("haumea", "fail")
declare function failBytes(address: usize, length: i32): void;
@external("haumea", "null")
declare function giveNothing(): void;
@external("haumea", "is_null")
declare function isNothing(argument: i32): i32;
@external("haumea", "log")
declare function logBytes(address: usize, length: i32): void;

/**
 * The call fails with this reason, which is the error of its row. Cheaper than throwing: the module goes on as it is.
 */
export function fail(reason: string): void {
  const bytes = String.UTF8.encode(reason);
  failBytes(changetype<usize>(bytes), bytes.byteLength);
}

/** The result of the call is null, whatever is returned. */
export function giveNull(): void {
  giveNothing();
}

/** Tells whether an argument of the call (from 0) is null; for functions with `"nulls": "pass"` in the manifest. */
export function isNull(argument: i32): bool {
  return isNothing(argument) !== 0;
}

/** Writes a line to the log of the server. */
export function log(line: string): void {
  const bytes = String.UTF8.encode(line);
  logBytes(changetype<usize>(bytes), bytes.byteLength);
}

/** A state for the engine, which holds it until it is saved, finished or joined to another. */
export function held<T>(state: T): i32 {
  return <i32>__pin(changetype<usize>(state));
}

/** The state that the engine holds. */
export function stateOf<T>(handle: i32): T {
  return changetype<T>(<usize>handle);
}

/** The engine is done with the state. */
export function release(handle: i32): void {
  __unpin(<usize>handle);
}

/** Bytes of a state whose fields are numbers alone, for `_save`; the state ends. */
export function saved<T>(handle: i32): ArrayBuffer {
  const bytes = new ArrayBuffer(<i32>offsetof<T>());
  memory.copy(changetype<usize>(bytes), <usize>handle, offsetof<T>());
  release(handle);
  return bytes;
}

/**
 * The state that `saved` made bytes of, for `_load`; of bytes of another length, as an older version may have left, a
 * new one is made.
 */
export function loaded<T>(bytes: ArrayBuffer): i32 {
  if (bytes.byteLength != <i32>offsetof<T>()) return 0;
  const state = instantiate<T>();
  memory.copy(changetype<usize>(state), changetype<usize>(bytes), offsetof<T>());
  return held<T>(state);
}

/** A text as JSON has it, in quotes. */
export function quoted(text: string): string {
  let out = '"';
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c === 0x22 || c === 0x5c) out += `\\${String.fromCharCode(c)}`;
    else if (c < 0x20) out += `\\u00${c < 0x10 ? '0' : '1'}${'0123456789abcdef'.charAt(c & 15)}`;
    else out += String.fromCharCode(c);
  }
  return `${out}"`;
}

/** An object (its JSON) with one more member at its end. */
export function withMember(object: string, name: string, value: string): string {
  const end = object.lastIndexOf('}');
  const isEmpty = object.substring(0, end).trim().length <= 1;
  return `${object.substring(0, end) + (isEmpty ? '' : ',') + quoted(name)}:${value}}`;
}
