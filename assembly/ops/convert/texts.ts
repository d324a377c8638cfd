// Characters by their codes, base64, JSON.
import * as ctx from '../../batch/context';
import { failLen, failOff } from '../../batch/failure';
import { faultMessage } from '../../json/fault';
import { parseDocument, valuePayload, valueTag } from '../../json/parse';
import { jsonSizeBound, jsonWriteValue } from '../../json/write';
import { Tag, isNull, lenOf, offOf, span } from '../../mem/layout';
import { poolAlloc } from '../../mem/pool';
import { BASE64_SLACK, base64Length, parseBase64, printBase64 } from '../../text/base64';
import { messageLen, messageOff } from '../../text/message';
import { putCodePoint } from '../../text/utf8';
import { valueError } from '../../value/error';
import { toF64, truncateF64 } from '../../value/number';
import { textBegin, textBytes, textGrow, textLiteral, textRoom, textTakeError } from '../../value/text';
import { runeCount } from '../../value/unicode';
import { giveWrong } from '../list/items';
import { isAbsent, isNumeric } from '../numeric';
import { charge, giveText, noMemory, resultRoom, tooLong, valueLength, valueLimit } from '../result';
import { give, giveNull, map1 } from '../row-loops';
import { Operation } from '../../gen/ops-layouts';

const LAST_CODE: i64 = 0x10ffff;
const MAX_CODE_LEN: u32 = 4;
const MAX_JSON: u64 = 0x3fff0000;
/** Lists and objects within each other, as in messages. */
const MAX_DEPTH: i32 = 64;

export function convertChr(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isNumeric(tag)) {
      const code = tag == Tag.I64 ? <i64>val : truncateF64(toF64(tag, val));
      if (code < 0 || code > LAST_CODE || (code >= 0xd800 && code < 0xe000)) {
        give(Tag.ERROR, valueError('no character has the code ', tag, val));
        return;
      }
      const to = resultRoom('chr', MAX_CODE_LEN);
      if (to) give(Tag.STR, span(to, <u32>(putCodePoint(to, <u32>code) - to)));
    } else if (isAbsent(tag, val)) {
      giveNull();
    } else if (tag == Tag.STR && runeCount(offOf(val), lenOf(val)) == 1) {
      give(tag, val);
    } else {
      giveWrong(1, 'a number or one character', tag, val);
    }
  });
}

export function convertEncode(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isAbsent(tag, val)) {
      giveNull();
    } else if (tag != Tag.STR && tag != Tag.BYTES) {
      giveWrong(1, 'a string', tag, val);
    } else {
      const to = resultRoom('encode', base64Length(lenOf(val)) + BASE64_SLACK);
      if (to) give(Tag.STR, span(to, <u32>(printBase64(to, offOf(val), lenOf(val)) - to)));
    }
  });
}

export function convertDecode(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isAbsent(tag, val)) {
      giveNull();
    } else if (tag != Tag.STR) {
      giveWrong(1, 'a string', tag, val);
    } else {
      const to = resultRoom('decode', lenOf(val));
      if (!to) return;
      const end = parseBase64(to, offOf(val), lenOf(val));
      if (end) give(Tag.BYTES, span(to, <u32>(end - to)));
      else give(Tag.ERROR, valueError('no base64: ', tag, val));
    }
  });
}

export function convertToJson(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isNull(tag)) {
      giveNull();
      return;
    }
    const bound = jsonSizeBound(tag, val);
    if (bound > MAX_JSON) {
      give(Tag.ERROR, tooLong('to_json', 0));
      return;
    }
    textBegin();
    const to = textRoom(<u32>bound);
    if (!to) {
      give(Tag.ERROR, noMemory('to_json'));
      return;
    }
    const end = jsonWriteValue(to, tag, val);
    if (end) {
      textGrow(<u32>(end - to));
      giveText('to_json');
    } else {
      giveFailure();
    }
  });
}

/** Gives the error of a value that JSON does not have. */
function giveFailure(): void {
  const to = poolAlloc(ctx.scratch, failLen);
  if (!to) {
    give(Tag.ERROR, noMemory('to_json'));
    return;
  }
  memory.copy(to, failOff, failLen);
  give(Tag.ERROR, span(to, failLen));
}

export function convertFromJson(op: Operation): void {
  map1(op, (tag: u8, val: u64): void => {
    if (isNull(tag)) {
      giveNull();
    } else if (tag != Tag.STR) {
      giveWrong(1, 'a string', tag, val);
    } else if (parseDocument(offOf(val), lenOf(val), ctx.scratch, 0, MAX_DEPTH, 0)) {
      const kind = valueTag;
      const payload = valuePayload;
      const len = kind >= Tag.STR ? valueLength(kind, payload, valueLimit()) : 0;
      if (charge('parse_json', len)) give(kind, payload);
    } else {
      faultMessage(offOf(val));
      textBegin();
      textLiteral('parse_json: ');
      textBytes(messageOff(), messageLen());
      give(Tag.ERROR, textTakeError());
    }
  });
}
