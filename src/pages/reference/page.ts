/** The reference page: Swagger UI over the server's own OpenAPI document, and addresses as the reader sees them. */

type Props = Readonly<Record<string, unknown>>;

/** What is used of React, which is Swagger UI's. */
interface System {
  readonly React: { readonly createElement: (component: unknown, props: Props) => unknown };
}

/** What is used of Swagger UI, which another script brings. */
declare const SwaggerUIBundle: (options: object) => unknown;

const API = new URL("api/public/v1", document.baseURI).href;

for (const place of document.querySelectorAll(".base")) place.textContent = API;

const nothing = () => () => null;

// Swagger UI's dark colours hang on a class.
const darkness = matchMedia("(prefers-color-scheme: dark)");
const applyDarkness = () => document.documentElement.classList.toggle("dark-mode", darkness.matches);
darkness.addEventListener("change", applyDarkness);
applyDarkness();

/** What Swagger UI shows above the operations stands in the page already, and there is one server to choose. */
const withoutTop = () => ({ wrapComponents: { InfoContainer: nothing, ServersContainer: nothing } });

/** No browser is to remember what was typed: it may be a token. */
const forgetful =
  (Input: unknown, { React }: System) =>
  (props: Props) =>
    React.createElement(Input, { ...props, autoComplete: "off", spellCheck: false });

const withForgetfulInputs = () => ({ wrapComponents: { Input: forgetful } });

// Swagger UI names what is open in the address but does not follow the way back to it: the address is enough.
history.pushState = history.replaceState;

SwaggerUIBundle({
  url: "openapi.json",
  domNode: document.getElementById("reference"),
  deepLinking: true,
  plugins: [withoutTop, withForgetfulInputs],
  supportedSubmitMethods: ["get"],
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // It would ask another host.
  validatorUrl: null,
  // A token is forgotten with the page.
  persistAuthorization: false,
});
