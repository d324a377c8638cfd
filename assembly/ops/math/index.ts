export {
  mathAbs,
  mathBitAnd,
  mathBitNot,
  mathBitOr,
  mathBitXor,
  mathCeil,
  mathFloor,
  mathPi,
  mathRound,
  mathSign,
  mathTrunc,
} from './rounding';
export { mathExp, mathLn, mathLog, mathMod, mathPower, mathSqrt } from './power';
export {
  mathAcos,
  mathAsin,
  mathAtan,
  mathAtan2,
  mathCos,
  mathCosh,
  mathCot,
  mathDegrees,
  mathRadians,
  mathSin,
  mathSinh,
  mathTan,
  mathTanh,
} from './trigonometry';
