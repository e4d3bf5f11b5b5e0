declare const SwaggerUIBundle: (options: object) => void;
SwaggerUIBundle({ url: "openapi.json", domNode: document.getElementById("reference") });
