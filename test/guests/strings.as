// A guest of AssemblyScript's run time for tests.
@external("haumea", "fail") declare function fail(at: usize, length: i32): void;
export function read_pairs(message: ArrayBuffer): string {
  const parts = String.UTF8.decode(message).split(";");
  let out = "";
  for (let i = 0; i < parts.length; i++) {
    const at = parts[i].indexOf("=");
    if (at < 0) throw new Error("no pair: " + parts[i]);
    out += (i == 0 ? "{" : ",") + '"' + parts[i].substring(0, at) + '":' + parts[i].substring(at + 1);
  }
  return out + "}";
}
export function write_pairs(row: string): ArrayBuffer {
  const text = row.substring(1, row.length - 1).replaceAll('"', "").replaceAll(":", "=");
  return String.UTF8.encode(text.replaceAll(",", ";"));
}
export function reversed(text: string): string { return text.split("").reverse().join(""); }
export function joined(a: string, b: string): string { return a + "/" + b; }
export function letters(text: string): i32 { return text.length; }
export function found(text: string): string | null { return text.length > 2 ? text : null; }
export function halved(bytes: ArrayBuffer): ArrayBuffer { return bytes.slice(0, bytes.byteLength / 2); }
export function strict(text: string): string { if (text == "") throw new Error("nothing given"); return text; }
export function wild(what: i32): usize { return what == 0 ? 0x7fffffff : what == 1 ? 3 : changetype<usize>(new Array<i32>(4)); }
export function wasted(text: string, bytes: i64): i32 { return new ArrayBuffer(<i32>bytes).byteLength + text.length; }
