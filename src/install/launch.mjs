// The start of an installed command: reports in one line that the runtime is too old or that files are missing, and
// holds signals. It imports nothing that may be missing; for its syntax see runtime.mjs.
import { whyNotHere } from "./runtime.mjs";

/** Shows `bin/orrery.mjs` that this file is not empty. */
export const isWhole = true;

/** Starts the program, which reads the arguments. */
function start() {
  const isServer = ["serve", "demo"].indexOf(process.argv[2]) >= 0;
  // A signal must not end a server before it has taken over; see util/process/early-signals.ts.
  if (isServer) {
    ["SIGINT", "SIGTERM"].forEach((signal) => {
      process.on(signal, () => {
        process.exit(0);
      });
    });
    ["SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT"].forEach((signal) => {
      process.on(signal, () => {});
    });
  }
  // Only sources need the loader for TypeScript; the build omits it.
  const ready =
    typeof IS_BUILT === "undefined" ? import("../util/process/typescript.mjs") : Promise.resolve();
  ready
    .then(() => import("../main.ts"))
    .then((program) => {
      if (!program.isWhole) throw new Error("a file is empty");
    })
    .catch((error) => {
      end(1, `the installation is damaged, install it again: ${String(error.message).split("\n")[0]}`);
    });
}

/** Hides arguments with a secret, such as the password of a URL, from lists of processes. */
function hideSecrets() {
  const isSecret = process.argv.some((argument) => /:\/\/.*@|[?&]\w*password=/i.test(argument));
  if (isSecret) process.title = `orrery ${process.argv[2]}`;
}

/** Ends with a line on standard error. */
function end(status, why) {
  process.exitCode = status;
  process.stderr.write(`orrery: ${why}\n`);
}

hideSecrets();
const why = whyNotHere(process.versions);
if (why === "") start();
else end(2, why);
