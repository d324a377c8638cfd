export { convertBucket } from './bucket';
export { convertChr, convertDecode, convertEncode, convertFromJson, convertToJson } from './texts';
export { convertCrc32 } from './crc32';
export { convertBase, convertFromHex, convertToHex } from './digits';
