/** A setting that cannot be used, for the caller, which knows how it was given: by a flag, a variable, or an option of the library. */

/** Its message is the name that it has there and {@link detail}. */
export class SettingError extends Error {
  override name = "SettingError";
  /** As in `Settings`. */
  readonly setting: string;
  /** What follows its name in messages: `": …"` or `" …"`. */
  readonly detail: string;
  /** Whether the value itself is wrong, and not what it leads to. */
  readonly isMisuse: boolean;

  constructor(setting: string, detail: string, isMisuse: boolean) {
    super(setting + detail);
    this.setting = setting;
    this.detail = detail;
    this.isMisuse = isMisuse;
  }
}
